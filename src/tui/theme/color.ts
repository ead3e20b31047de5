export interface Rgb {
  readonly red: number
  readonly green: number
  readonly blue: number
}

export const BLACK: Rgb = { red: 0, green: 0, blue: 0 }
export const WHITE: Rgb = { red: 255, green: 255, blue: 255 }

/** Reads `#rrggbb`, `#rgb` and the names of the 16 basic colours. */
export function parseColor(text: string): Rgb | undefined {
  const wanted = text.trim().toLowerCase()
  const named = NAMES.indexOf(wanted.replace(/^ansi_?/, "").replaceAll(/[\s_-]/g, ""))
  if (named !== -1) return BASIC_COLORS[named]
  const digits = /^#([\da-f]{3}|[\da-f]{6})$/.exec(wanted)?.[1]
  if (digits === undefined) return undefined
  const [red = 0, green = 0, blue = 0] =
    digits.length === 3
      ? Array.from(digits, (digit) => Number.parseInt(digit + digit, 16))
      : [0, 2, 4].map((start) => Number.parseInt(digits.slice(start, start + 2), 16))
  return { red, green, blue }
}

/** The contrast ratio of WCAG 2, from 1 to 21. */
export function contrast(one: Rgb, other: Rgb): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return ((light ?? 0) + 0.05) / ((dark ?? 0) + 0.05)
}

export function isLight(color: Rgb): boolean {
  return luminance(color) > 0.18
}

/** The colour, made lighter or darker until text in it can be read on all of these backgrounds. */
export function readableOn(color: Rgb, backgrounds: readonly Rgb[], ratio: number): Rgb {
  const goal = backgrounds.every((background) => isLight(background)) ? BLACK : WHITE
  for (let amount = 0; amount < 1; amount += 0.04) {
    const candidate = mix(color, goal, amount)
    if (backgrounds.every((background) => contrast(candidate, background) >= ratio)) return candidate
  }
  return goal
}

/** `amount` is the part of the second colour, from 0 to 1. */
export function mix(one: Rgb, other: Rgb, amount: number): Rgb {
  const part = (from: number, to: number): number => Math.round(from + (to - from) * amount)
  return {
    red: part(one.red, other.red),
    green: part(one.green, other.green),
    blue: part(one.blue, other.blue),
  }
}

/** The nearest colour of the palette that xterm and its relatives share: a cube of 216 colours and 24 greys. */
export function nearest256({ red, green, blue }: Rgb): number {
  const level = (value: number): number =>
    CUBE.reduce((best, step, index) => (distance1(step, value) < distance1(CUBE[best] ?? 0, value) ? index : best), 0)
  const [r, g, b] = [level(red), level(green), level(blue)]
  const cube: Rgb = { red: CUBE[r] ?? 0, green: CUBE[g] ?? 0, blue: CUBE[b] ?? 0 }
  const grey = Math.max(0, Math.min(23, Math.round(((red + green + blue) / 3 - 8) / 10)))
  const shade = 8 + grey * 10
  const wanted = { red, green, blue }
  return distance(wanted, { red: shade, green: shade, blue: shade }) < distance(wanted, cube)
    ? 232 + grey
    : 16 + 36 * r + 6 * g + b
}

/** The nearest of the 16 basic colours, of those that can be read on the backgrounds if there are any. */
export function nearest16(color: Rgb, backgrounds: readonly Rgb[] = []): number {
  const readable = BASIC_COLORS.map((_, index) => index).filter((index) =>
    backgrounds.every((background) => contrast(basicColor(index), background) >= 3),
  )
  const candidates = readable.length === 0 ? BASIC_COLORS.map((_, index) => index) : readable
  return candidates.reduce((best, index) =>
    distance(color, basicColor(index)) < distance(color, basicColor(best)) ? index : best,
  )
}

export function basicColor(index: number): Rgb {
  return BASIC_COLORS[index] ?? BLACK
}

function luminance({ red, green, blue }: Rgb): number {
  const linear = (value: number): number => {
    const part = value / 255
    return part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  }
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

function distance(one: Rgb, other: Rgb): number {
  return (one.red - other.red) ** 2 + (one.green - other.green) ** 2 + (one.blue - other.blue) ** 2
}

function distance1(one: number, other: number): number {
  return Math.abs(one - other)
}

const CUBE = [0, 95, 135, 175, 215, 255]

const NAMES = (
  "black red green yellow blue magenta cyan white " +
  "brightblack brightred brightgreen brightyellow brightblue brightmagenta brightcyan brightwhite"
).split(" ")

const BASIC_COLORS: readonly Rgb[] = [
  0x00_00_00, 0xcd_00_00, 0x00_cd_00, 0xcd_cd_00, 0x00_00_ee, 0xcd_00_cd, 0x00_cd_cd, 0xe5_e5_e5, 0x7f_7f_7f,
  0xff_00_00, 0x00_ff_00, 0xff_ff_00, 0x5c_5c_ff, 0xff_00_ff, 0x00_ff_ff, 0xff_ff_ff,
].map((value) => ({ red: value >> 16, green: (value >> 8) & 255, blue: value & 255 }))
