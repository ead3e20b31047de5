/** Text without terminal control sequences (ECMA-48, 7- and 8-bit). Time is linear in the text. */
export function stripAnsi(text: string): string {
  return INTRODUCER.test(text) ? text.replaceAll(SEQUENCES, "") : text
}

const INTRODUCER = new RegExp(String.raw`[\u{1B}\u{90}\u{98}\u{9B}\u{9D}-\u{9F}]`, "u")

/** Order matters: a string sequence begins like a two-byte one. A string ends at the next introducer, which keeps the time linear. */
const SEQUENCES = new RegExp(
  [
    String.raw`(?:\u{1B}\]|\u{9D})[^\u{7}\u{1B}\u{80}-\u{9F}]*(?:\u{7}|\u{1B}\\|\u{9C})`, // OSC … BEL or ST
    String.raw`(?:\u{1B}[PX^_]|[\u{90}\u{98}\u{9E}\u{9F}])[^\u{1B}\u{80}-\u{9F}]*(?:\u{1B}\\|\u{9C})`, // DCS, SOS, PM, APC … ST
    String.raw`(?:\u{1B}\[|\u{9B})[0-?]*[ -\/]*(?:[@-~]|$)`, // CSI; at the end of the text also one that was cut
    String.raw`\u{1B}[ -\/]*(?:[0-~]|$)`, // nF and two-byte sequences
  ].join("|"),
  "gu",
)
