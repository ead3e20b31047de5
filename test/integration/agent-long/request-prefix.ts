/** Whether the later request begins with all bytes of the earlier one, except the brackets that close its body. */
export function extendsRequest(earlier: string, later: string): boolean {
  return earlier.endsWith("]}") && later.startsWith(earlier.slice(0, -"]}".length))
}
