import {
  basicColor,
  BLACK,
  isLight,
  mix,
  nearest16,
  nearest256,
  parseColor,
  readableOn,
  type Rgb,
  WHITE,
} from "./color.ts"
import type { Skin } from "./skin.ts"
import { COLOR_ROLES, type ColorRole, type TextStyle, type Theme } from "./theme.ts"

/** How many colours the terminal shows. */
export type ColorDepth = "none" | "16" | "256" | "full"

export interface ThemeOptions {
  readonly depth: ColorDepth
  /** The colour behind the text, as far as it is known. */
  readonly background: Rgb
}

export const DARK_BACKGROUND: Rgb = { red: 30, green: 30, blue: 30 }
export const LIGHT_BACKGROUND: Rgb = { red: 250, green: 250, blue: 250 }

export function createTheme(skin: Skin, { depth, background }: ThemeOptions): Theme {
  const color = depth !== "none"
  const openings = color ? roleOpenings(skin, depth, background) : undefined
  return {
    name: skin.name,
    color,
    background: isLight(background) ? "light" : "dark",
    paint: (role, text) => {
      const opening = openings?.get(role)
      return opening === undefined ? text : enclose(text, opening, isBackground(role) ? 49 : 39)
    },
    style: (style, text) => (color ? enclose(text, String(STYLES[style].on), STYLES[style].off) : text),
    spinner: skin.spinner,
    branding: skin.branding,
    toolPrefix: skin.toolPrefix,
    toolEmojis: skin.toolEmojis,
  }
}

/** Reads the depth from the variables that terminals set. */
export function colorDepth(variable: (name: string) => string | undefined): ColorDepth {
  const term = variable("TERM") ?? ""
  if ((variable("NO_COLOR") ?? "") !== "" || term === "dumb") return "none"
  if (/^(?:truecolor|24bit)$/i.test(variable("COLORTERM") ?? "")) return "full"
  if (/-direct|kitty|ghostty|alacritty|wezterm/i.test(term)) return "full"
  return /256/.test(term) ? "256" : "16"
}

/** The colours of all roles on this background: text has a contrast of at least 4.5 to what it stands on, lines of 3. */
export function themeColors(skin: Skin, background: Rgb): ReadonlyMap<ColorRole, Rgb> {
  const given = (role: ColorRole): Rgb => parseColor(skin.colors[role]) ?? (isLight(background) ? BLACK : WHITE)
  const surface = (role: ColorRole): Rgb => {
    const color = given(role)
    if (isLight(color) === isLight(background)) return color
    return isLight(background) ? mix(color, WHITE, 0.86) : mix(color, BLACK, 0.8)
  }
  const text = (role: ColorRole): Rgb =>
    readableOn(
      given(role),
      surfacesOf(role).map((below) => (below === "terminal" ? background : surface(below))),
      role.endsWith("_border") || role === "input_rule" ? 3 : 4.5,
    )
  return new Map(COLOR_ROLES.map((role) => [role, isBackground(role) ? surface(role) : text(role)]))
}

function roleOpenings(skin: Skin, depth: ColorDepth, background: Rgb): ReadonlyMap<ColorRole, string> {
  const colors = themeColors(skin, background)
  const opening = (role: ColorRole, color: Rgb): string => {
    const base = isBackground(role) ? 48 : 38
    if (depth === "full") return `${base};2;${color.red};${color.green};${color.blue}`
    if (depth === "256") return `${base};5;${nearest256(color)}`
    if (isBackground(role)) return basicParameter(nearest16(color), 40)
    const below = surfacesOf(role).map((name) =>
      name === "terminal" ? background : basicColor(nearest16(colors.get(name) ?? background)),
    )
    return basicParameter(nearest16(color, below), 30)
  }
  return new Map(Array.from(colors, ([role, color]) => [role, opening(role, color)]))
}

function basicParameter(index: number, base: 30 | 40): string {
  return String(index < 8 ? base + index : base + 60 + index - 8)
}

/** On what the text of a role stands. */
function surfacesOf(role: ColorRole): readonly (ColorRole | "terminal")[] {
  if (role === "completion_menu_selected") return ["completion_menu_bg", "selection_bg"]
  if (role.startsWith("completion_menu_")) return ["completion_menu_bg"]
  if (role.startsWith("status_bar_")) return ["status_bar_bg"]
  if (role === "banner_text" || role === "ui_accent" || role === "ui_label") return ["terminal", "selection_bg"]
  return ["terminal"]
}

function isBackground(role: ColorRole): boolean {
  return role.endsWith("_bg")
}

/** Styles may be nested: what ends inside the text starts again behind it. */
function enclose(text: string, opening: string, closing: number): string {
  if (text === "") return ""
  const [on, off] = [`\u{1B}[${opening}m`, `\u{1B}[${closing}m`]
  const inner = text.includes(off) ? text.replaceAll(off, closing === 22 ? off + on : on) : text
  return on + inner + off
}

const STYLES: Readonly<Record<TextStyle, { readonly on: number; readonly off: number }>> = {
  bold: { on: 1, off: 22 },
  dim: { on: 2, off: 22 },
  italic: { on: 3, off: 23 },
  underline: { on: 4, off: 24 },
  inverse: { on: 7, off: 27 },
  strikethrough: { on: 9, off: 29 },
}
