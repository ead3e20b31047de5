import { readFileSync, statSync } from "node:fs"
import { join, resolve } from "node:path"
import { fail, ok, type Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import { withVariables, type Environment } from "../environment.ts"
import { HomeError, homeAt, readActiveProfile, resolveHome, type Home } from "../home.ts"
import type { Refusal } from "../managed-home.ts"
import { isProfileName, normalizeProfileName } from "./profile-name.ts"

export interface ProfileChoice {
  /** The arguments without the profile flag. */
  readonly argv: readonly string[]
  /** The environment with `HERMES_HOME` set, so that children land in the same home. */
  readonly environment: Environment
  readonly home: Home
  readonly warning?: string
}

/** Decides the home before anything reads configuration, from the raw arguments (without node and script). */
export function chooseProfile(argv: readonly string[], environment: Environment): Result<ProfileChoice, Refusal> {
  const flag = findProfileFlag(argv)
  if (!flag.ok) return flag
  try {
    return chooseHome(flag.value, environment)
  } catch (cause) {
    if (cause instanceof HomeError) return fail({ kind: "failed", message: cause.message })
    // The user must still be able to start the program to repair the problem.
    const home = resolveHome(environment)
    const root = homeAt(home.root, environment)
    const warning = `could not choose the profile (${errorMessage(cause)}); the default profile is used`
    return ok(choice(flag.value.rest, root, { environment, warning }))
  }
}

interface ProfileFlag {
  readonly name: string | undefined
  readonly rest: readonly string[]
}

function findProfileFlag(argv: readonly string[]): Result<ProfileFlag, Refusal> {
  const rest: string[] = []
  let name: string | undefined
  for (let index = 0; index < argv.length; index += 1) {
    const argument = argv[index] ?? ""
    const next = argv[index + 1]
    if (endsScan(argument, argv.slice(0, index))) {
      rest.push(...argv.slice(index))
      break
    }
    if (argument === "-p" || argument === "--profile") {
      const candidate = normalizeProfileName(next ?? "")
      if (isProfileName(candidate)) {
        name = candidate
        index += 1
      } else {
        rest.push(argument)
      }
    } else if (argument.startsWith("--profile=")) {
      const given = argument.slice("--profile=".length)
      if (!isProfileName(normalizeProfileName(given))) return fail({ kind: "failed", message: badName(given) })
      name = normalizeProfileName(given)
    } else {
      rest.push(argument)
      if (next !== undefined && takesNext(argument, next)) {
        rest.push(next)
        index += 1
      }
    }
  }
  return ok({ name, rest })
}

/** The following arguments are not ours: after `--`, or the command line of an MCP server. */
function endsScan(argument: string, before: readonly string[]): boolean {
  const addsServer = before.includes("mcp") && (before.includes("add") || before.includes("install"))
  return argument === "--" || (argument === "--args" && addsServer)
}

const FLAGS_WITH_VALUE: readonly string[] = [
  "-z",
  "--oneshot",
  "-m",
  "--model",
  "--provider",
  "-t",
  "--toolsets",
  "-r",
  "--resume",
  "-s",
  "--skills",
]

function takesNext(argument: string, next: string): boolean {
  if (FLAGS_WITH_VALUE.includes(argument)) return true
  return (argument === "-c" || argument === "--continue") && !next.startsWith("-")
}

function badName(given: string): string {
  return `"${given}" is not a profile name; use 1 to 64 lower-case letters, digits, - and _, starting with a letter or digit`
}

function chooseHome(flag: ProfileFlag, environment: Environment): Result<ProfileChoice, Refusal> {
  const current = resolveHome(environment)
  if (flag.name === undefined && isProfileHome(environment)) return ok(choice(flag.rest, current, { environment }))
  const wanted = flag.name ?? activeProfile(current, environment)
  if (wanted === undefined) {
    const named = (environment.get("HERMES_HOME") ?? "").trim() !== ""
    return ok(choice(flag.rest, named ? current : homeAt(current.root, environment), { environment }))
  }
  const name = normalizeProfileName(wanted)
  if (name === "default") return ok(choice(flag.rest, homeAt(current.root, environment), { environment }))
  if (!isProfileName(name)) {
    const warning = `the file ${current.display(join(current.root, "active_profile"))} does not name a profile; the default profile is used`
    return ok(choice(flag.rest, homeAt(current.root, environment), { environment, warning }))
  }
  const directory = findProfile(name, current, environment)
  if (directory === undefined) return fail({ kind: "failed", message: missing(name, current) })
  return ok(choice(flag.rest, homeAt(directory, environment), { environment }))
}

/** `HERMES_HOME` ends in `profiles/<name>`: the parent process has already chosen a profile. */
function isProfileHome(environment: Environment): boolean {
  const named = (environment.get("HERMES_HOME") ?? "").trim()
  if (named === "") return false
  const [folder, name] = resolve(named).split(/[\\/]/).slice(-2)
  return folder === "profiles" && name !== undefined && isProfileName(name)
}

function activeProfile(home: Home, environment: Environment): string | undefined {
  if ((environment.get("HERMES_S6_SUPERVISED_CHILD") ?? "") !== "") return undefined
  const name = readActiveProfile(home.root)
  return name === undefined || normalizeProfileName(name) === "default" ? undefined : name
}

function findProfile(name: string, home: Home, environment: Environment): string | undefined {
  const own = join(home.root, "profiles", name)
  if (isDirectory(own)) return own
  const invoking = invokingUserHome(environment)
  if (invoking === undefined) return undefined
  const theirs = join(invoking, ".hermes", "profiles", name)
  return isDirectory(theirs) ? theirs : undefined
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** Under sudo the home is root's, but the profile probably belongs to the user who ran sudo. */
function invokingUserHome(environment: Environment): string | undefined {
  const user = environment.get("SUDO_USER") ?? ""
  if (!/^[A-Za-z_][\w.-]*$/.test(user)) return undefined
  try {
    const line = readFileSync("/etc/passwd", "utf8")
      .split("\n")
      .find((entry) => entry.startsWith(`${user}:`))
    return line?.split(":")[5] ?? join("/home", user)
  } catch {
    // Systems without this file have home directories under /home by convention.
    return join("/home", user)
  }
}

function missing(name: string, home: Home): string {
  return (
    `profile "${name}" does not exist under ${home.display(join(home.root, "profiles"))}; ` +
    `create it with: hermes -p default profile create ${name} — or switch to the default profile with: hermes -p default profile use default`
  )
}

function choice(
  argv: readonly string[],
  home: Home,
  { environment, warning }: { environment: Environment; warning?: string },
): ProfileChoice {
  const chosen = { argv, home, environment: withVariables(environment, { HERMES_HOME: home.path }) }
  return warning === undefined ? chosen : { ...chosen, warning }
}
