import { isSecretFileName } from "../../policy/file-floor.ts"

/** Why a place cannot be read as a file: it would block for ever, or show the secrets of a process. */
export function refusedDevice(path: string): string | undefined {
  const device =
    /^\/dev\/(?:zero|random|urandom|full|stdin|stdout|stderr|tty|console)$/.test(path) ||
    /^\/dev\/fd\/[0-2]$/.test(path) ||
    /^\/proc\/(?:.*\/)?(?:fd\/[0-2]|environ|cmdline|maps|smaps|mem|auxv)$/.test(path)
  return device ? `${path} is a device or belongs to a process and cannot be read as a file` : undefined
}

/** Whether a search result must not be shown, although its directory may be searched. */
export function isHiddenFromSearch(path: string): boolean {
  return isSecretFileName(path) || refusedDevice(path) !== undefined || HERMES_SECRETS.test(path)
}

const HERMES_SECRETS =
  /\/\.hermes\/(?:profiles\/[^/]+\/)?(?:auth\.json|auth\.lock|\.anthropic_oauth\.json|webhook_subscriptions\.json|auth\/google_oauth\.json|cache\/bws_cache\.json|mcp-tokens\/|skills\/\.hub\/)/
