/** A count with three significant digits: `999`, `1.23K`, `123K`, `1.23M`. */
export function compactCount(count: number): string {
  const size = Math.abs(count)
  if (size < 1000) return String(count)
  const sign = count < 0 ? "-" : ""
  for (const [index, unit] of UNITS.entries()) {
    const scaled = size / 1000 ** (index + 1)
    const digits = scaled < 10 ? 2 : scaled < 100 ? 1 : 0
    const shown = Number(scaled.toFixed(digits))
    // 999,999 must not read "1000K".
    if (shown < 1000 || index === UNITS.length - 1) return `${sign}${shown}${unit}`
  }
  return String(count)
}

const UNITS = ["K", "M", "B"] as const

/** A short duration, rounded: `59s`, `2m`, `1h 1m`, `1.0d`. */
export function compactDuration(seconds: number): string {
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole}s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 60) return `${minutes}m`
  if (minutes >= 24 * 60) return `${(seconds / 86_400).toFixed(1)}d`
  return `${Math.floor(minutes / 60)}h${minutes % 60 === 0 ? "" : ` ${minutes % 60}m`}`
}
