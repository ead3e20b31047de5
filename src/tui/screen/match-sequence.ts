const ESC = "\u{1B}"
// oxlint-disable-next-line no-control-regex -- matches control characters on purpose
const CONTROL = /[\u0000-\u001F]/

/** A complete control sequence; `end` is the index behind it. */
export type Sequence = { readonly end: number } & (
  | { readonly kind: "csi"; readonly parameters: string; readonly final: string }
  | { readonly kind: "keypad"; readonly parameters: string; readonly final: string }
  | { readonly kind: "console-function-key"; readonly final: string }
  | { readonly kind: "osc"; readonly payload: string }
  | { readonly kind: "paste-start" }
  | { readonly kind: "ignored" }
)

/** The sequence that begins at `start`; undefined when it is Alt with a key. */
export function matchSequence(text: string, start: number): Sequence | "incomplete" | undefined {
  const introducer = text[start + 1]
  if (introducer === undefined) return "incomplete"
  if (introducer === "[") return matchCsi(text, start)
  if (introducer === "O") return matchKeypad(text, start)
  const opening = STRING_OPENINGS.get(introducer)
  if (opening === undefined) return undefined
  const first = text[start + 2]
  if (first === undefined) return "incomplete"
  return opening.test(first) ? matchString(text, start) : undefined
}

/** The first character of the strings that terminals send. After any other character the introducer was a key with Alt. */
const STRING_OPENINGS: ReadonlyMap<string, RegExp> = new Map([
  ["]", /[\dlL]/],
  ["P", /[\d>!]/],
  ["_", /G/],
])

function matchCsi(text: string, start: number): Sequence | "incomplete" | undefined {
  CSI.lastIndex = start
  const [whole = "", parameters = "", intermediates = "", final = ""] = CSI.exec(text) ?? []
  const end = start + whole.length
  if (parameters === "" && intermediates === "" && final === "[") {
    const letter = text[end]
    if (letter === undefined) return "incomplete"
    // The Linux console sends F1 to F5 this way.
    if (/[A-E]/.test(letter)) return { kind: "console-function-key", final: letter, end: end + 1 }
    return { kind: "ignored", end }
  }
  // rxvt ends keys with Shift in a character that is no final one elsewhere.
  if (/^\d+$/.test(parameters) && intermediates.startsWith("$"))
    return { kind: "csi", parameters, final: "$", end: start + 2 + parameters.length + 1 }
  if (final === "") return end === text.length ? "incomplete" : { kind: "ignored", end }
  if (intermediates !== "") return { kind: "ignored", end }
  if (parameters === "" && final === "M") return matchOldMouse(text, end)
  if (final === "~" && parameters === "200") return { kind: "paste-start", end }
  return { kind: "csi", parameters, final, end }
}

/** Three characters follow, which must not become text. */
function matchOldMouse(text: string, from: number): Sequence | "incomplete" {
  THREE_CHARACTERS.lastIndex = from
  const [characters] = THREE_CHARACTERS.exec(text) ?? []
  return characters === undefined ? "incomplete" : { kind: "ignored", end: from + characters.length }
}

function matchKeypad(text: string, start: number): Sequence | "incomplete" | undefined {
  KEYPAD.lastIndex = start
  const [whole = "", parameters = "", final = ""] = KEYPAD.exec(text) ?? []
  const end = start + whole.length
  if (final !== "") return { kind: "keypad", parameters, final, end }
  if (end === text.length) return "incomplete"
  return parameters === "" ? undefined : { kind: "ignored", end }
}

/** A string ends at BEL or ST. Any other control character interrupts it. */
function matchString(text: string, start: number): Sequence | "incomplete" {
  const from = start + 2
  const length = text.slice(from).search(CONTROL)
  if (length === -1) return "incomplete"
  const end = from + length
  const payload = text.slice(from, end)
  const isOsc = text[start + 1] === "]"
  if (text[end] === ESC && text[end + 1] === undefined) return "incomplete"
  const isEnded = text[end] === "\u{7}" || text.startsWith(`${ESC}\\`, end)
  if (!isEnded) return { kind: "ignored", end }
  const next = end + (text[end] === ESC ? 2 : 1)
  return isOsc ? { kind: "osc", payload, end: next } : { kind: "ignored", end: next }
}

const THREE_CHARACTERS = /.{3}/suy
const CSI = new RegExp(String.raw`\u{1B}\[([0-?]*)([ -\/]*)([@-~]?)`, "uy")
const KEYPAD = new RegExp(String.raw`\u{1B}O([\d;]*)([A-Za-z]?)`, "uy")
