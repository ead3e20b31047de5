const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Formats an age; both times are epoch seconds: "just now", "5m ago", "3h ago", "yesterday", "4d ago", then the local date. */
export function relativeTime(then: number, now: number): string {
  const age = now - then
  if (age < MINUTE) return "just now"
  if (age < HOUR) return `${Math.floor(age / MINUTE)}m ago`
  if (age < DAY) return `${Math.floor(age / HOUR)}h ago`
  if (age < 2 * DAY) return "yesterday"
  if (age < 7 * DAY) return `${Math.floor(age / DAY)}d ago`
  return localDate(then)
}

export function localDate(seconds: number): string {
  const date = new Date(seconds * 1000)
  return [date.getFullYear(), twoDigits(date.getMonth() + 1), twoDigits(date.getDate())].join("-")
}

export function localDateTime(seconds: number): string {
  const date = new Date(seconds * 1000)
  return `${localDate(seconds)} ${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}`
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0")
}
