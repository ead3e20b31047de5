/** Why a test cannot run here; undefined when it can. */
export type SkipReason = string | undefined

/** The title of a test that is skipped for a reason. `npm test` lists the reason. */
export function titleWithReason(title: string, missing: SkipReason): string {
  return missing === undefined ? title : `${title} (skipped: ${missing})`
}

export const NOT_LINUX: SkipReason = process.platform === "linux" ? undefined : "it needs Linux"
