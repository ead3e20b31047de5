/** What a model, a tool or a file wrote may not drive the terminal: control characters other than newline and tab are left out. */
export function printable(text: string): string {
  return text.replaceAll(CONTROL_CHARACTERS, "")
}

// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const CONTROL_CHARACTERS = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/gu
