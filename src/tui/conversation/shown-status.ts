/** The kinds of status events that users see. */
export const SHOWN_STATUS: ReadonlySet<string> = new Set([
  "warning",
  "retry",
  "notice",
  "fallback",
  "rotate",
  "compress",
])
