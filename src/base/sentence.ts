/** Messages of lower layers are written to be put into other sentences; alone on a line they get a capital and a full stop. */
export function asSentence(message: string): string {
  const text = message.trim()
  const opened =
    /^[a-z]/.test(text) && !/^\S*[./_]/.test(text) ? `${text[0]?.toUpperCase() ?? ""}${text.slice(1)}` : text
  return /[.!?:`]$/.test(opened) ? opened : `${opened}.`
}
