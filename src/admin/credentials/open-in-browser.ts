import type { Environment } from "../../config/environment.ts"
import { runInteractively } from "../../exec/interactive-program.ts"

/** Opens a page in the user's browser where this machine has a graphical session; does nothing elsewhere. */
export async function openInBrowser(url: string, environment: Environment): Promise<void> {
  const graphical = ["DISPLAY", "WAYLAND_DISPLAY"].some((name) => (environment.get(name) ?? "") !== "")
  const opener = process.platform === "darwin" ? "open" : graphical ? "xdg-open" : undefined
  if (opener === undefined || process.platform === "win32") return
  // Some browsers keep the program that opened them waiting, so the shell starts the opener in the background.
  await runInteractively(`page() { ${opener} "$1" >/dev/null 2>&1 </dev/null & }; page`, url)
}
