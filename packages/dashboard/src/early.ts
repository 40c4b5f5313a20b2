/** Runs before the first paint: the theme and language that this browser chose before. */

const read = (name: string): string | null => {
  try {
    return localStorage.getItem(name);
  } catch {
    // A browser may refuse storage; the choices are then those of the system.
    return null;
  }
};
const theme = read("emanet.theme");
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
const language = read("emanet.language") ?? navigator.language.slice(0, 2);
document.documentElement.lang = language === "en" ? "en" : "tr";
