import { ACCOUNT_CREDENTIALS, HERMES_PRIVATE, HERMES_RESULTS, HERMES_SECRETS } from "../../config/protected-paths.ts"
import { isWithin } from "../file-floor.ts"
import type { CommandFacts } from "./command-verdict.ts"
import { componentGlob, hasGlob } from "./shell-glob.ts"

/** True for a file that holds keys or logins, or other conversations. A pattern counts when it can match one. */
export function isCredentialPath(path: string, facts: CommandFacts): boolean {
  if (HARMLESS.test(path)) return false
  if (hasGlob(path)) return couldNameCredential(path, facts)
  if (isHermesSecret(path, facts)) return true
  if (SYSTEM_SECRETS.test(path) || KEY_FILE.test(path)) return true
  if (!isWithin(path, facts.userHome)) return /^\/(?:root|home\/[^/]+)\/\.(?:ssh|aws|gnupg|netrc)(?:\/|$)/u.test(path)
  const below = path.slice(facts.userHome.length).replace(/^\/+/u, "")
  return ACCOUNT_CREDENTIALS.some((name) => isWithin(below, name))
}

/** A pattern is judged as if it expanded to every file that it could name. */
function couldNameCredential(path: string, facts: CommandFacts): boolean {
  if (SYSTEM_SECRETS.test(path) || KEY_FILE.test(path)) return true
  const parts = path.split("/")
  const compiled: ((name: string) => boolean)[] = []
  // Most patterns differ from all of these paths in their first component, so that nothing is compiled.
  const matches = (index: number, name: string): boolean => {
    const part = parts[index]
    if (part === undefined || part === name) return part === name
    return hasGlob(part) && (compiled[index] ??= componentGlob(part))(name)
  }
  const homeDepth = facts.userHome.split("/").length
  const couldName = (directory: string, names: readonly string[]): boolean => {
    const start = directory.split("/")
    if (!start.every((name, index) => matches(index, name))) return false
    return names.some((name) =>
      name.split("/").every((component, offset) => {
        const index = start.length + offset
        // `~/*` matches no name that starts with a dot, and `cat ~/*` is common.
        const isHidden = index === homeDepth && component.startsWith(".") && /^[*?[]/u.test(parts[index] ?? "")
        return !isHidden && matches(index, component)
      }),
    )
  }
  const last = parts.at(-1) ?? ""
  return (
    (last.startsWith("id_") && matches(parts.length - 1, "id_rsa")) ||
    couldName(facts.userHome, ACCOUNT_CREDENTIALS) ||
    [...new Set(hermesHomes(facts))].some((home) => couldName(home, HERMES_NAMES)) ||
    couldName("/root", [".ssh", ".aws", ".gnupg", ".netrc"]) ||
    couldName("", SYSTEM_SECRET_NAMES)
  )
}

/** Samples of what `SYSTEM_SECRETS` matches, for patterns. */
const SYSTEM_SECRET_NAMES: readonly string[] =
  "etc/shadow etc/gshadow etc/master.passwd etc/sudoers etc/krb5.keytab etc/ssh/ssh_host_rsa_key etc/ssh/ssh_host_ed25519_key etc/ssl/private etc/NetworkManager/system-connections etc/wireguard etc/kubernetes/admin.conf etc/rancher etc/letsencrypt/live etc/letsencrypt/archive tmp/krb5cc_0 proc/self/environ proc/1/environ run/secrets".split(
    " ",
  )

/** True for a directory in which everything belongs to keys and logins. */
export function isCredentialDirectory(path: string, { userHome }: CommandFacts): boolean {
  return CREDENTIAL_DIRECTORIES.some((name) => isWithin(path, `${userHome}/${name}`) && !HARMLESS_FILE.test(path))
}

/** True for a file with keys or logins and for a directory that contains some. The workspace itself is always searched. */
export function holdsCredentials(path: string, facts: CommandFacts): boolean {
  // A project has no credentials of the account in it, a home that the user works in has.
  if (path === facts.workspaceRoot && !isWithin(facts.userHome, path)) return false
  if (isCredentialPath(path, facts) || isCredentialDirectory(path, facts)) return true
  const { userHome } = facts
  if (hermesHomes(facts).some((home) => isWithin(home, path) || isAboveOneOf(HERMES_NAMES, path, home))) return true
  return isWithin(userHome, path) || isAboveOneOf(ACCOUNT_CREDENTIALS, path, userHome)
}

/** Of the results, one directory belongs to this conversation. */
const HERMES_NAMES: readonly string[] = [...HERMES_SECRETS, ...HERMES_PRIVATE].filter((name) => name !== HERMES_RESULTS)

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

/** Files next to keys that contain no secrets, and the directories themselves. */
const HARMLESS =
  /\/\.ssh\/(?:config|known_hosts[^/]*|[^/]*\.pub|authorized_keys)$|\/\.aws\/config$|\/\.(?:ssh|aws|kube|docker|azure|gnupg)\/?$|\/\.gnupg\/(?:gpg(?:-agent)?\.conf|pubring[^/]*)$/u

const SYSTEM_SECRETS =
  /^\/(?:etc\/(?:g?shadow|master\.passwd|sudoers|ssh\/ssh_host_\w+_key|krb5\.keytab|ssl\/private|NetworkManager\/system-connections|wireguard|ipsec\.(?:secrets|d\/private)|pki\/tls\/private|letsencrypt\/(?:live|archive|accounts|keys)|kubernetes\/(?:[^/]+\.conf$|pki\/.*\.key$)|rancher|mysql\/debian\.cnf|ppp\/(?:chap|pap)-secrets)|proc\/(?:\d+|self|\*)\/environ|var\/lib\/(?:sss|NetworkManager|rancher|kubelet\/pki)\/|(?:var\/)?tmp\/krb5cc|(?:var\/)?run\/(?:user\/\d+\/)?containers\/(?:\d+\/)?auth\.json|(?:var\/)?run\/user\/\d+\/(?:keyring|gnupg|krb5cc)|run\/secrets\/|var\/run\/secrets\/)/u
const KEY_FILE = /\/(?:id_(?:rsa|dsa|ecdsa|ed25519)(?:_\w+)?|wallet\.dat|[^/]+\.(?:keystore|jks|kdbx|ppk))$/u
