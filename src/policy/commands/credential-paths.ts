import { ACCOUNT_CREDENTIALS, HERMES_SECRETS } from "../../config/protected-paths.ts"
import { isWithin } from "../file-floor.ts"
import type { CommandFacts } from "./command-verdict.ts"
import { componentGlob, hasGlob } from "./shell-glob.ts"

/** True for a file that holds keys or logins. A pattern counts when it can match one. */
export function isCredentialPath(path: string, facts: CommandFacts): boolean {
  if (HARMLESS.test(path)) return false
  if (isHermesSecret(path, facts)) return true
  if (SYSTEM_SECRETS.test(path) || KEY_FILE.test(path)) return true
  if (!isWithin(path, facts.userHome)) return /^\/(?:root|home\/[^/]+)\/\.(?:ssh|aws|gnupg|netrc)(?:\/|$)/u.test(path)
  const below = path.slice(facts.userHome.length).replace(/^\/+/u, "")
  return ACCOUNT_CREDENTIALS.some((name) => isBelow(below, name))
}

/** True for a directory in which everything belongs to keys and logins. */
export function isCredentialDirectory(path: string, { userHome }: CommandFacts): boolean {
  return CREDENTIAL_DIRECTORIES.some((name) => isWithin(path, `${userHome}/${name}`) && !HARMLESS_FILE.test(path))
}

/** True for a file with keys or logins and for a directory that contains some. The workspace itself is always searched. */
export function holdsCredentials(path: string, facts: CommandFacts): boolean {
  if (path === facts.workspaceRoot) return false
  if (isCredentialPath(path, facts) || isCredentialDirectory(path, facts)) return true
  const { userHome } = facts
  if (hermesHomes(facts).some((home) => isWithin(home, path) || isAboveOneOf(HERMES_NAMES, path, home))) return true
  return isWithin(userHome, path) || isAboveOneOf(ACCOUNT_CREDENTIALS, path, userHome)
}

const HERMES_NAMES: readonly string[] = [...HERMES_SECRETS, "state.db", "state.db-wal"]

function hermesHomes({ hermesHome, hermesRoot, userHome }: CommandFacts): readonly string[] {
  return [hermesHome, hermesRoot, `${userHome}/.hermes`]
}

/** Most paths are in none of the homes, so the names are compared with few of them. */
function isHermesSecret(path: string, facts: CommandFacts): boolean {
  return hermesHomes(facts).some((home) => {
    if (!isWithin(path, home)) return false
    const below = path.slice(home.length + 1)
    return HERMES_NAMES.some((name) => isWithin(below, name))
  })
}

/** True for a directory below `home` that contains one of the names. */
function isAboveOneOf(names: readonly string[], path: string, home: string): boolean {
  if (!isWithin(path, home)) return false
  const below = path.slice(home.length + 1)
  return names.some((name) => isWithin(name, below))
}

const CREDENTIAL_DIRECTORIES = [
  ".ssh",
  ".aws",
  ".gnupg",
  ".kube",
  ".azure",
  ".config/gcloud",
  ".config/gh",
  ".password-store",
]
const HARMLESS_FILE = /\/\.ssh\/(?:config|known_hosts[^/]*|[^/]*\.pub|authorized_keys)$|\/\.aws\/config$/u

function isBelow(path: string, name: string): boolean {
  if (!hasGlob(path)) return isWithin(path, name)
  const parts = path.split("/")
  return name.split("/").every((part, index) => {
    const pattern = parts[index]
    // `~/*` matches no name that starts with a dot, and `ls ~/*` is common.
    return pattern !== undefined && (pattern.startsWith("*") ? index > 0 : componentGlob(pattern)(part))
  })
}

/** Files next to keys that contain no secrets, and the directories themselves. */
const HARMLESS =
  /\/\.ssh\/(?:config|known_hosts[^/]*|[^/]*\.pub|authorized_keys)$|\/\.aws\/config$|\/\.(?:ssh|aws|kube|docker|azure|gnupg)\/?$|\/\.gnupg\/(?:gpg(?:-agent)?\.conf|pubring[^/]*)$/u

const SYSTEM_SECRETS =
  /^\/(?:etc\/(?:g?shadow|master\.passwd|sudoers|ssh\/ssh_host_\w+_key|krb5\.keytab|ssl\/private|NetworkManager\/system-connections|wireguard|ppp\/(?:chap|pap)-secrets)|proc\/(?:\d+|self|\*)\/environ|var\/lib\/(?:sss|NetworkManager)\/|run\/secrets\/|var\/run\/secrets\/)/u
const KEY_FILE = /\/(?:id_(?:rsa|dsa|ecdsa|ed25519)(?:_\w+)?|wallet\.dat|[^/]+\.(?:keystore|jks|kdbx|ppk))$/u
