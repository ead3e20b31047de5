/** A test keeps it equal to package.json; reading that file would slow `--version` down. */
export const VERSION = "0.1.0"

/** The oldest supported version of Node; the same test keeps it equal to `engines` in package.json. */
export const MINIMUM_NODE_VERSION = "24.15.0"

/** The build defines it as the commit. */
declare const HERMES_BUILD: string | undefined

export function buildId(): string {
  return typeof HERMES_BUILD === "string" ? HERMES_BUILD : "source"
}

export function versionLine(): string {
  return `hermes ${VERSION} (${buildId()}) node ${process.versions.node}`
}

/** Returns a message when the running version of Node is too old, and undefined otherwise. */
export function nodeVersionProblem(running: string): string | undefined {
  const [minimum, actual] = [MINIMUM_NODE_VERSION, running].map((version) => version.split(".").map(Number))
  for (const [index, part] of (minimum ?? []).entries()) {
    const difference = (actual?.[index] ?? 0) - part
    if (difference > 0) return undefined
    if (difference < 0)
      return `Hermes needs Node ${MINIMUM_NODE_VERSION} or newer, but this is Node ${running}. Install a newer version from https://nodejs.org.`
  }
  return undefined
}
