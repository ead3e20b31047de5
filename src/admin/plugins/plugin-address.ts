/** Where a plugin is fetched from. */
export interface PluginAddress {
  readonly url: string
  /** The folder of the plugin in the repository. */
  readonly path?: string
  readonly warning?: string
}

/** Reads `https://…`, `file://…`, `owner/repo`, `owner/repo/sub/dir`, `URL#sub/dir`, `….git/sub/dir` and a browser's `tree` address. */
export function parsePluginAddress(address: string): PluginAddress | undefined {
  const [whole = "", fragment] = address.split("#", 2)
  const short = /^([\w.-]+)\/([\w.-]+)((?:\/[\w.-]+)*)$/u.exec(whole)
  if (short !== null) {
    const [, owner = "", repository = "", below = ""] = short
    return withPath(`https://github.com/${owner}/${repository.replace(/\.git$/u, "")}.git`, fragment ?? below.slice(1))
  }
  if (!/^(?:https?|file):\/\//u.test(whole)) return undefined
  const tree = /^(https?:\/\/[^/]+\/[^/]+\/[^/]+)\/tree\/[^/]+\/(.+)$/u.exec(whole)
  if (tree !== null) return withPath(`${tree[1] ?? ""}.git`, tree[2])
  const inside = /^(.+?\.git)\/(.+)$/u.exec(whole)
  if (inside !== null) return withPath(inside[1] ?? "", inside[2])
  return withPath(whole, fragment)
}

function withPath(url: string, path: string | undefined): PluginAddress {
  const scheme = /^(http|file):\/\//u.exec(url)?.[1]
  return {
    url,
    ...(path === undefined || path === "" ? {} : { path }),
    ...(scheme === undefined ? {} : { warning: `${scheme}:// does not prove where the plugin comes from` }),
  }
}
