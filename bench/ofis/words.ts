/**
 * The words that texts are made of. Firms and people are obviously invented ("Deneme", "Örnek"); account names follow
 * the uniform chart of accounts.
 */

import type { SeededRandom } from "./seeded-random.ts";

export const months = [
  ...["Ocak", "Şubat", "Mart", "Nisan", "Mayıs", "Haziran"],
  ...["Temmuz", "Ağustos", "Eylül", "Ekim", "Kasım", "Aralık"],
] as const;

const trades = [
  ...["İnşaat", "Gıda", "Tekstil", "Nakliyat", "Otomotiv", "Bilişim", "Tarım", "Mobilya", "Matbaa", "Eczane"],
  ...["Kırtasiye", "Züccaciye", "Ağaç Ürünleri", "Çelik", "Plastik", "Turizm", "Sağlık", "Danışmanlık"],
];
const forms = ["Ltd. Şti.", "A.Ş.", "Tic. ve San. Ltd. Şti.", "Kollektif Şti.", "Kooperatifi"];
const cities = [
  ...["İstanbul", "Ankara", "İzmir", "Bursa", "Iğdır", "Muğla", "Çanakkale", "Şanlıurfa", "Eskişehir", "Kırıkkale"],
  ...["Diyarbakır", "Uşak", "Niğde", "Düzce", "Ağrı"],
];
const streets = ["Atatürk Cad.", "Çınar Sok.", "Güneş Sok.", "İnönü Bulv.", "Işık Sok.", "Şehitler Cad.", "Ölçü Sok."];
const goods = [
  ...[
    "A4 fotokopi kağıdı 80 gr",
    "Çelik dübel 10x80",
    "Ambalaj bandı",
    "Zeytinyağı 5 lt",
    "Nakliye bedeli",
    "Danışmanlık",
  ],
  ...["Elektrik tüketim bedeli", "Doğalgaz", "İşçilik", "Yazılım bakım bedeli", "Motorin", "Kargo gönderi bedeli"],
  ...["Kırtasiye malzemesi", "Şeker 50 kg", "Pirinç baldo", "Ofis sandalyesi", "LED ampul 9 W", "Vida 4x40 galvaniz"],
  ...["Su tüketim bedeli", "Telefon hizmet bedeli", "Aylık kira bedeli", "Reklam hizmeti", "Temizlik malzemesi"],
];
const operations = [
  ...["Satış faturası", "Alış faturası", "Banka havalesi", "Kredi kartı tahsilatı", "Personel maaş tahakkuku"],
  ...["SGK prim ödemesi", "KDV tahakkuku", "Kira ödemesi", "Çek tahsilatı", "Senet ödemesi", "Nakit tahsilat"],
  ...["Virman", "Gider pusulası", "Amortisman kaydı", "Dönem sonu değerleme", "İade faturası", "Masraf fişi"],
];

/** Accounts in the order of how often they are booked. */
export const accounts: readonly (readonly [code: string, name: string])[] = [
  ["120", "ALICILAR"],
  ["320", "SATICILAR"],
  ["600", "YURTİÇİ SATIŞLAR"],
  ["391", "HESAPLANAN KDV"],
  ["191", "İNDİRİLECEK KDV"],
  ["153", "TİCARİ MALLAR"],
  ["102", "BANKALAR"],
  ["770", "GENEL YÖNETİM GİDERLERİ"],
  ["100", "KASA"],
  ["360", "ÖDENECEK VERGİ VE FONLAR"],
  ["361", "ÖDENECEK SOSYAL GÜVENLİK KESİNTİLERİ"],
  ["335", "PERSONELE BORÇLAR"],
  ["760", "PAZARLAMA SATIŞ VE DAĞITIM GİDERLERİ"],
  ["108", "DİĞER HAZIR DEĞERLER"],
  ["254", "TAŞITLAR"],
  ["257", "BİRİKMİŞ AMORTİSMANLAR"],
];

export function firmName(random: SeededRandom): string {
  return `Deneme ${random.pick(trades)} ${random.below(1000)} ${random.pick(forms)}`;
}

export function address(random: SeededRandom): { readonly street: string; readonly city: string } {
  return { street: `Örnek Mah. ${random.pick(streets)} No: ${random.between(1, 240)}`, city: random.pick(cities) };
}

export function goodsName(random: SeededRandom): string {
  return random.pickSkewed(goods);
}

export function operationName(random: SeededRandom): string {
  return random.pickSkewed(operations);
}

/** An amount in kuruş: mostly hundreds of lira, sometimes a hundred thousand. */
export function kurus(random: SeededRandom): number {
  const magnitude = [10_000, 100_000, 1_000_000, 10_000_000][Math.min(random.below(4), random.below(4) + 1)] ?? 10_000;
  return random.between(100, magnitude);
}

/** Kuruş as `1234.50`. */
export function lira(amount: number): string {
  return `${Math.trunc(amount / 100)}.${String(amount % 100).padStart(2, "0")}`;
}

/** A tax number with a valid check digit, in a range that is not used: it starts with 999. */
export function taxNumber(ordinal: number): string {
  const nine = `999${String(ordinal).padStart(6, "0")}`;
  let sum = 0;
  for (let i = 1; i <= 9; i++) {
    const t = (Number(nine[i - 1]) + 10 - i) % 10;
    sum += t === 9 ? 9 : (t * 2 ** (10 - i)) % 9;
  }
  return `${nine}${(10 - (sum % 10)) % 10}`;
}
