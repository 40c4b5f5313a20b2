/** The texts of the list of keys, loaded with it. */

import { pageLanguage } from "./index.ts";

const tr = {
  title: "Klavye kısayolları",
  everywhere: "Her yerde",
  letters: "Tek harfler",
  places: "Sayfalara geçiş",
  always: [
    { keys: ["Ctrl", "K"], text: "Ara" },
    { keys: ["↑", "↓"], text: "Satırlar arasında gez" },
    { keys: ["Enter"], text: "Aç" },
    { keys: ["Space"], text: "Kutuyu işaretle" },
    { keys: ["Esc"], text: "Kapat ya da üst sayfaya dön" },
  ],
  single: [
    { keys: ["/"], text: "Süzgece geç" },
    { keys: ["J"], text: "Sonraki satır" },
    { keys: ["K"], text: "Önceki satır" },
    { keys: ["D"], text: "Açık dosyayı indir" },
    { keys: ["R"], text: "Açık dosyayı geri yükle" },
    { keys: ["?"], text: "Bu listeyi göster" },
  ],
  lettersOn: "Tek harfli kısayollar açık",
  lettersHint: "Sesle yazıyorsanız ya da elinizle istemeden tuşa basıyorsanız kapatın.",
};

const en: typeof tr = {
  title: "Keyboard shortcuts",
  everywhere: "Everywhere",
  letters: "Single letters",
  places: "Going to a page",
  always: [
    { keys: ["Ctrl", "K"], text: "Search" },
    { keys: ["↑", "↓"], text: "Move between rows" },
    { keys: ["Enter"], text: "Open" },
    { keys: ["Space"], text: "Tick a box" },
    { keys: ["Esc"], text: "Close, or go to the page above" },
  ],
  single: [
    { keys: ["/"], text: "Go to the filter" },
    { keys: ["J"], text: "Next row" },
    { keys: ["K"], text: "Previous row" },
    { keys: ["D"], text: "Download the open file" },
    { keys: ["R"], text: "Restore the open file" },
    { keys: ["?"], text: "Show this list" },
  ],
  lettersOn: "Single-letter shortcuts are on",
  lettersHint: "Switch them off if you type by voice, or press keys without meaning to.",
};

export const h = pageLanguage === "en" ? en : tr;
