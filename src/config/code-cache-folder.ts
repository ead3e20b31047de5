/**
 * Where compiled code is kept between runs: where Node is told to keep its own, else in the home. Undefined where nothing is to be
 * kept. Never among temporary files: whoever can write there before us would decide what we run.
 */
export function codeCacheFolder(
  variables: Readonly<Record<string, string | undefined>> = process.env,
): string | undefined {
  if (variables["NODE_DISABLE_COMPILE_CACHE"]) return undefined
  const wanted = variables["NODE_COMPILE_CACHE"]
  // Not below wherever we happen to be started: that may be a stranger's project.
  if (wanted) return wanted.startsWith("/") ? `${wanted}/hermes` : undefined
  const home = variables["HERMES_HOME"]?.trim() || defaultHome(variables)
  return home?.startsWith("/") ? `${home}/cache/code` : undefined
}

function defaultHome(variables: Readonly<Record<string, string | undefined>>): string | undefined {
  return variables["HOME"] ? `${variables["HOME"]}/.hermes` : undefined
}
