import { join } from "node:path"

import { isSecretFileName, readRefusal } from "../../../policy/file-floor.ts"
import type { ProfileDirectories } from "../../../toolkit/ports/files.ts"

/** Why a path must not be read as a file: it would block forever, or reveal secrets of a process. */
export function refusedDevice(path: string): string | undefined {
  const device =
    /^\/dev\/(?:zero|random|urandom|full|stdin|stdout|stderr|tty|console)$/.test(path) ||
    /^\/dev\/fd\/[0-2]$/.test(path) ||
    /^\/proc\/(?:.*\/)?(?:fd\/[0-2]|environ|cmdline|maps|smaps|mem|auxv)$/.test(path)
  return device ? `${path} is a device or belongs to a process and cannot be read as a file` : undefined
}

/** Whether the content of a file must not be shown in search results or diffs. */
export function holdsSecrets(path: string, directories: ProfileDirectories | undefined): boolean {
  if (isSecretFileName(path) || HERMES_SECRETS.test(path)) return true
  if (directories === undefined) return false
  // `read_file` masks the keys in it, which takes the whole file.
  return path === join(directories.hermesHome, "config.yaml") || readRefusal(path, directories) !== undefined
}

const HERMES_SECRETS =
  /\/\.hermes\/(?:profiles\/[^/]+\/)?(?:auth\.json|auth\.lock|\.anthropic_oauth\.json|webhook_subscriptions\.json|auth\/google_oauth\.json|cache\/(?:bws_cache|config\.parsed)\.json|mcp-tokens\/|skills\/\.hub\/)/
