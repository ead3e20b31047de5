/** Kept equal to package.json by a test: reading a file for `--version` would cost more than everything else it does. */
export const VERSION = "0.1.0"

/** The oldest Node this release runs on; kept equal to `engines` in package.json by the same test. */
export const NODE_FLOOR = "24.15.0"

/** Set by the bundler to the commit it was built from. */
declare const HERMES_BUILD: string | undefined

export function buildId(): string {
  return typeof HERMES_BUILD === "string" ? HERMES_BUILD : "source"
}

export function versionLine(): string {
  return `hermes ${VERSION} (${buildId()}) node ${process.versions.node}`
}

/** A sentence when the running Node is too old, else undefined. */
export function nodeFloorProblem(running: string): string | undefined {
  const [wanted, present] = [NODE_FLOOR, running].map((version) => version.split(".").map(Number))
  for (const [index, part] of (wanted ?? []).entries()) {
    const difference = (present?.[index] ?? 0) - part
    if (difference > 0) return undefined
    if (difference < 0)
      return `Hermes needs Node ${NODE_FLOOR} or newer, and this is Node ${running}. Install a newer Node from https://nodejs.org.`
  }
  return undefined
}
