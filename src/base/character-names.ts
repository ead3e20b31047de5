/** Scripts with letters that look like Latin ones. */
export const LOOK_ALIKE_SCRIPTS =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}\p{Script=Deseret}\p{Script=Osage}\p{Script=Tifinagh}\p{Script=Canadian_Aboriginal}\p{Script=Runic}\p{Script=Old_Italic}\p{Script=Carian}\p{Script=Lycian}\p{Script=Lydian}\p{Script=Warang_Citi}]/u

/** The ASCII character that a letter, digit or sign of another alphabet or style looks like. */
export function looksLike(char: string): string | undefined {
  const listed = LOOK_ALIKES.get(char)
  if (listed !== undefined) return listed
  const plain = char.normalize("NFKC")
  return plain !== char && /^[!-~]$/u.test(plain) ? plain : undefined
}

/** What a character is, for a user who cannot see it. */
export function characterName(char: string): string {
  const code = char.codePointAt(0) ?? 0
  const named = NAMES.get(code)
  if (named !== undefined) return named
  const kind = KINDS.find(({ has }) => has.test(char))?.name ?? "unusual character"
  const target = looksLike(char)
  return target === undefined ? kind : `${kind} that looks like ${target}`
}

const NAMES: ReadonlyMap<number, string> = new Map([
  [0x00, "null character"],
  [0x07, "bell"],
  [0x08, "backspace"],
  [0x0b, "vertical tab"],
  [0x0c, "form feed"],
  [0x0d, "carriage return"],
  [0x1b, "escape, which starts terminal sequences"],
  [0x7f, "delete"],
  [0x85, "next line"],
  [0x9b, "terminal sequence introducer"],
  [0x9d, "terminal command introducer"],
  [0xa0, "no-break space"],
  [0xad, "soft hyphen"],
  [0x061c, "Arabic letter mark"],
  [0x180e, "Mongolian vowel separator"],
  [0x200b, "zero-width space"],
  [0x200c, "zero-width non-joiner"],
  [0x200d, "zero-width joiner"],
  [0x200e, "left-to-right mark"],
  [0x200f, "right-to-left mark"],
  [0x2028, "line separator"],
  [0x2029, "paragraph separator"],
  [0x202a, "left-to-right embedding"],
  [0x202b, "right-to-left embedding"],
  [0x202c, "end of a text direction"],
  [0x202d, "left-to-right override"],
  [0x202e, "right-to-left override"],
  [0x2060, "word joiner"],
  [0x2066, "left-to-right isolate"],
  [0x2067, "right-to-left isolate"],
  [0x2068, "first strong isolate"],
  [0x2069, "end of an isolate"],
  [0x2800, "blank Braille pattern"],
  [0x3000, "ideographic space"],
  [0x3164, "Hangul filler"],
  [0xfeff, "byte order mark"],
])

/** In the order in which they are tried. */
const KINDS: readonly { readonly has: RegExp; readonly name: string }[] = [
  { has: /[\u{E0000}-\u{E007F}]/u, name: "invisible tag character" },
  { has: /\p{Variation_Selector}/u, name: "variation selector" },
  { has: /\p{Cc}/u, name: "control character" },
  { has: /\p{Cf}/u, name: "invisible format character" },
  { has: /\p{Zs}/u, name: "unusual space" },
  { has: /\p{Co}/u, name: "private-use character" },
  { has: /\p{Cs}/u, name: "half of a character" },
  { has: /\p{Cn}/u, name: "unassigned character" },
  { has: /\p{M}/u, name: "combining mark" },
  { has: /\p{Script=Cyrillic}/u, name: "Cyrillic letter" },
  { has: /\p{Script=Greek}/u, name: "Greek letter" },
  { has: /\p{Script=Armenian}/u, name: "Armenian letter" },
  { has: /\p{Script=Cherokee}/u, name: "Cherokee letter" },
  { has: /\p{L}/u, name: "unusual letter" },
  { has: /\p{N}/u, name: "unusual digit" },
  { has: /[\p{P}\p{S}]/u, name: "unusual sign" },
]

/** Pairs of a character and the ASCII character that it looks like. */
const LOOK_ALIKES: ReadonlyMap<string, string> = new Map(
  [
    "аaсcеeоoрpхxуyіiјjѕsһhԁdԛqԝwӏlѵvкk",
    "АAВBЕEКKМMНHОOРPСCТTХXУYІIЈJЅSԚQԜWӀIЗ3",
    "οoαaνvρpυuιiκkγyχxηnτtϲcϳj",
    "ΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXϹC",
    "օoսuոnհhցgզqլl",
    "ᎪAᏴBᏟCᎠDᎬEᎻHᎥiᎫJᏦKᏞLᎷMᏢPᎡRᏚSᎢTᏙVᎳWᏃZ",
    "ɑaɡgɩi",
    "ǀ|˗-\u037E;\u2010-\u2011-‚,․.‹<›>⁄/−-∕/∖\\∣|∶:╱/╲\\⧵\\⧸/꞉:",
  ].flatMap((row) => {
    const chars = Array.from(row)
    return chars.flatMap((char, index) => (index % 2 === 0 ? [[char, chars[index + 1] ?? ""] as const] : []))
  }),
)
