/** Whether the later request starts with the bytes of the earlier one, except for its closing brackets. */
export function extendsRequest(earlier: string, later: string): boolean {
  return earlier.endsWith("]}") && later.startsWith(earlier.slice(0, -"]}".length))
}
