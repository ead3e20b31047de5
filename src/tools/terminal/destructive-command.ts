const DESTRUCTIVE_WORD =
  /(?:^|\s|&&|\|\||;|`)(?:(?:rm|rmdir|cp|install|mv|truncate|dd|shred)\s|sed\s+-i|git\s+(?:reset|clean|checkout)\s)/u
const OVERWRITING_REDIRECT = /(?<!>)>(?!>)/u

/**
 * Whether a command looks as if it replaces or removes files. Only adds a warning to previews; `policy` decides whether a command
 * may run.
 */
export function looksDestructive(command: string): boolean {
  return DESTRUCTIVE_WORD.test(command) || OVERWRITING_REDIRECT.test(command)
}
