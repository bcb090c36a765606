// Light, dark, or as the system has it; the choice is kept in this browser.
const choices = ["system", "light", "dark"];
const names = { system: "auto", light: "light", dark: "dark" };

export function startTheme() {
  const button = document.getElementById("theme");
  let now = kept();
  const apply = () => {
    if (now === "system") delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = now;
    button.textContent = "Theme: " + names[now];
    button.setAttribute("aria-label", "Theme: " + names[now] + ". Change");
  };
  button.addEventListener("click", () => {
    now = choices[(choices.indexOf(now) + 1) % choices.length];
    try { localStorage.setItem("wva-theme", now); } catch { /* it is not kept then */ }
    apply();
  });
  apply();
}

function kept() {
  try {
    const theme = localStorage.getItem("wva-theme");
    return choices.includes(theme) ? theme : "system";
  } catch {
    return "system";
  }
}
