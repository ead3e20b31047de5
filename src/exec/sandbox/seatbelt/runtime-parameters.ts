import { realpathSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import type { MacOSSandboxParams } from "@anthropic-ai/sandbox-runtime/dist/sandbox/macos-sandbox-utils.js"

import type { LocalProxy } from "../network/network-access.ts"
import { createResolver, existing, existingWritable, isBelow } from "../resolved-paths.ts"
import type { CommandWalls } from "../sandbox-arguments.ts"

/** What sandbox-runtime needs to know about one command. `variables` are set for the command. */
export interface RuntimeParameters extends Omit<MacOSSandboxParams, "command"> {
  readonly variables: Readonly<Record<string, string>>
}

export interface RuntimeWalls extends CommandWalls {
  /** The only route of the command to the network. */
  readonly proxy?: LocalProxy | undefined
  /** Unix sockets that the command may use without a network. */
  readonly sockets: readonly string[]
}

/**
 * Translates the walls to the rules of sandbox-runtime. Its rules match names, and there are no mounts: private caches become variables, and a
 * write rule has no exceptions inside it. A rule for a protected file that does not exist yet would work, but `git checkout` of a branch
 * that has one would fail halfway. As on Linux, the check after the command handles it.
 */
export function runtimeParameters(walls: RuntimeWalls): RuntimeParameters {
  const { replaced = [] } = walls
  const resolve = createResolver()
  const caches = replaced.map(({ source }) => source)
  const writable = [...existingWritable(walls.writable, resolve).map(({ path }) => path), ...caches]
  const hidden = [...new Set(walls.hidden)]
  const temporary = realpathSync.native(tmpdir())
  const isAllowedInside = (path: string): boolean =>
    hidden.some((directory) => isBelow(path, directory)) ||
    CONVERSATION_DIRECTORIES.some((name) => path.startsWith(join(temporary, name)))
  return {
    needsNetworkRestriction: !walls.network || walls.proxy !== undefined,
    ...(walls.network && walls.proxy !== undefined
      ? {
          httpProxyPort: walls.proxy.port,
          socksProxyPort: walls.proxy.port,
          proxyAuthToken: walls.proxy.password,
        }
      : {}),
    allowUnixSockets: [...walls.sockets],
    allowPty: walls.keepTerminal === true,
    // The rule of the library protects only the directory that Hermes was started in, and has no exceptions.
    allowGitConfig: true,
    readConfig: {
      denyOnly: CONVERSATION_DIRECTORIES.map((name) => join(temporary, `${name}*`)),
      literalDenyOnly: hidden,
      literalAllowWithinDeny: [...walls.shown, ...writable.filter(isAllowedInside)],
    },
    writeConfig: {
      allowOnly: [],
      literalAllowOnly: [...DEVICES, ...writable],
      denyWithinAllow: [],
      // A rule has no exceptions: a writable directory inside a protected one stays protected, unless nothing around them is writable.
      literalDenyWithinAllow: [
        ...new Set([
          ...existing(walls.readOnly, resolve).map(({ path }) => path),
          ...replaced.map(({ path }) => path),
          ...hidden,
        ]),
      ].filter((path) => writable.some((directory) => directory === path || isBelow(path, directory))),
    },
    variables: {
      ...cacheVariables(caches),
      // Without a template, git creates no hooks in a new repository, which the library would refuse.
      GIT_TEMPLATE_DIR: "",
      ...(walls.proxy === undefined ? {} : PROXY_VARIABLES),
    },
  }
}

/** Directories of other conversations in the temporary directory, with the variables of their shells. */
const CONVERSATION_DIRECTORIES = ["hermes-shell-", "hermes-pipes-"]

const DEVICES = ["/dev/stdout", "/dev/stderr", "/dev/null", "/dev/tty", "/dev/dtracehelper", "/dev/autofs_nowait"]

/** Addresses that are listed are reached through the proxy too. The library sets the other variables. */
const PROXY_VARIABLES = { NO_PROXY: "", no_proxy: "", NODE_USE_ENV_PROXY: "1" }

/** Without mounts, a variable tells package managers where their private cache is. On macOS few of them use XDG_CACHE_HOME. */
function cacheVariables(sources: readonly string[]): Record<string, string> {
  const npm = sources.find((source) => source.endsWith("/npm"))
  const cache = sources.find((source) => source.endsWith("/cache"))
  return {
    ...(npm === undefined ? {} : { npm_config_cache: npm }),
    ...(cache === undefined
      ? {}
      : {
          XDG_CACHE_HOME: cache,
          GOCACHE: join(cache, "go-build"),
          PIP_CACHE_DIR: join(cache, "pip"),
          YARN_CACHE_FOLDER: join(cache, "yarn"),
        }),
  }
}
