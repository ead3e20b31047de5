/** Quotes a text so that a POSIX shell reads it as one literal word. */
export function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
