/**
 * The directory for compiled code: below NODE_COMPILE_CACHE where that is set, else in the home; undefined when caching is
 * disabled. Never a shared temporary directory, where another user could plant code that we would run.
 */
export function codeCacheDirectory(
  variables: Readonly<Record<string, string | undefined>> = process.env,
): string | undefined {
  if (variables["NODE_DISABLE_COMPILE_CACHE"]) return undefined
  const wanted = variables["NODE_COMPILE_CACHE"]
  // A relative path would depend on the working directory, which may be an untrusted project.
  if (wanted) return wanted.startsWith("/") ? `${wanted}/hermes` : undefined
  const home = variables["HERMES_HOME"]?.trim() || defaultHome(variables)
  return home?.startsWith("/") ? `${home}/cache/code` : undefined
}

function defaultHome(variables: Readonly<Record<string, string | undefined>>): string | undefined {
  return variables["HOME"] ? `${variables["HOME"]}/.hermes` : undefined
}
