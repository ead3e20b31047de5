/** True for a line that starts with a command. A first word with a second `/` is a path. */
export function isSlashLine(line: string): boolean {
  return /^\/[^\s/]*(?:\s|$)/u.test(line)
}
