/** The colours of the terminal in a picture. Hermes uses 24-bit colours; the shell has the sixteen of `colors`. */
export interface Palette {
  readonly foreground: string
  readonly background: string
  readonly titleBar: string
  readonly colors: readonly string[]
}

const COLORS = [
  "#3b4252",
  "#e06c75",
  "#98c379",
  "#e5c07b",
  "#61afef",
  "#c678dd",
  "#56b6c2",
  "#d8dee9",
  "#5c6370",
  "#ef8a92",
  "#b2d996",
  "#f0d197",
  "#85c3f5",
  "#d79be8",
  "#7fccd6",
  "#ffffff",
]

export const DARK: Palette = { foreground: "#d8dee9", background: "#16181d", titleBar: "#2b313d", colors: COLORS }

export const LIGHT: Palette = { foreground: "#24292f", background: "#fdfdfb", titleBar: "#dfe3e8", colors: COLORS }
