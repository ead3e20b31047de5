/** Exponential backoff, `min(base·2^(attempt−1), max)`, plus random jitter of up to `ratio` of it. */
export function backoffMs(options: {
  readonly attempt: number
  readonly baseMs: number
  readonly maxMs: number
  readonly ratio: number
  readonly random: () => number
}): number {
  const exponent = options.attempt - 1
  const delay =
    options.baseMs <= 0 || exponent >= 63 ? options.maxMs : Math.min(options.baseMs * 2 ** exponent, options.maxMs)
  return delay + options.random() * options.ratio * delay
}
