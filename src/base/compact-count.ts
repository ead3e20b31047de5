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

/** A short duration: `59s`, `2m`, `1h 1m`, `1.0d`. */
export function compactDuration(seconds: number): string {
  const whole = Math.floor(seconds)
  if (whole < 60) return `${whole}s`
  if (whole < 3600) return `${Math.floor(whole / 60)}m`
  if (whole >= 86_400) return `${(whole / 86_400).toFixed(1)}d`
  const minutes = Math.floor((whole % 3600) / 60)
  return `${Math.floor(whole / 3600)}h${minutes === 0 ? "" : ` ${minutes}m`}`
}
