const DESTRUCTIVE_WORD =
  /(?:^|\s|&&|\|\||;|`)(?:(?:rm|rmdir|cp|install|mv|truncate|dd|shred)\s|sed\s+-i|git\s+(?:reset|clean|checkout)\s)/u
const OVERWRITING_REDIRECT = /(?<!>)>(?!>)/u

/**
 * Whether a command looks as if it replaces or removes files. Decides about a checkpoint beforehand and the warning word in
 * previews, nothing else: a false alarm costs a harmless snapshot. Whether a command may run is for `policy`.
 */
export function looksDestructive(command: string): boolean {
  return DESTRUCTIVE_WORD.test(command) || OVERWRITING_REDIRECT.test(command)
}
