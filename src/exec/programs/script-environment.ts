import { isBlockedVariable } from "../command-environment.ts"

/**
 * Filters the environment for scripts that call tools: less than commands get, because a script reaches everything else through tools.
 * `passthrough` adds names that the user configured, but never one of Hermes' own credentials.
 */
export function scriptEnvironment(
  inherited: Readonly<Record<string, string>>,
  options: { readonly passthrough: readonly string[]; readonly set: Readonly<Record<string, string>> },
): Record<string, string> {
  const declared = new Set(options.passthrough)
  const visible = Object.entries(inherited).filter(
    ([name]) => !isBlockedVariable(name) && (declared.has(name) || (isOrdinary(name) && !SECRET_NAME.test(name))),
  )
  return { ...Object.fromEntries(visible), ...options.set }
}

function isOrdinary(name: string): boolean {
  return NAMES.has(name) || PREFIXES.some((prefix) => name.startsWith(prefix))
}

const SECRET_NAME = /KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH|DSN|WEBHOOK/iu

const NAMES: ReadonlySet<string> = new Set(["HERMES_HOME", "HERMES_PROFILE", "HERMES_CONFIG", "HERMES_ENV", "TZ"])

const PREFIXES =
  "PATH HOME USER LANG LC_ TERM TMPDIR TMP TEMP SHELL LOGNAME XDG_ PYTHONPATH VIRTUAL_ENV CONDA NODE_PATH".split(" ")
