import { isWithin } from "../../file-floor.ts"
import { absolutePath } from "../command-paths.ts"
import { CODE } from "../command-rule.ts"
import type { CommandRule } from "../command-rule.ts"
import { hasFlag, invocations, subcommands } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { takesNewAddress } from "../submodule-addresses.ts"
import { executedFiles } from "./foreign-code.ts"

const isSubmodule = (call: Invocation, ...actions: readonly string[]): boolean => {
  const [command, action = ""] = subcommands(call)
  return command === "submodule" && actions.includes(action)
}

/** A repository on this machine or a file with one, in contrast to the name of a remote. */
const LOCAL = /^(?:\.{1,2}(?:\/|$)|\/|~|file:)|\.bundle$/u

/** `git pull x.bundle`, `git fetch ../x && git merge FETCH_HEAD`: which files change is not known before. */
function mergesLocal(call: Invocation): boolean {
  const [action = "", from = ""] = subcommands(call)
  if (action === "pull") return LOCAL.test(from)
  if (!USES_COMMIT.has(action) || !call.words.some(({ text }) => text.includes("FETCH_HEAD"))) return false
  const { commands } = call.understood
  return commands.slice(0, commands.indexOf(call.command)).some((command) => {
    const [earlier] = command.program === "git" ? invocations(command, call.understood, call.facts) : []
    const [earlierAction, address = ""] = earlier === undefined ? [] : subcommands(earlier)
    return earlierAction === "fetch" && LOCAL.test(address)
  })
}

const USES_COMMIT: ReadonlySet<string> = new Set("merge checkout switch reset rebase cherry-pick restore".split(" "))

/** The repositories that commands of this shell cloned from another machine. */
function clones({ understood }: Invocation): readonly string[] {
  return [...(understood.after.remotes ?? [])].flatMap((path) =>
    path.startsWith("/") && path.endsWith("/.git") ? [path.slice(0, -"/.git".length)] : [],
  )
}

/** Programs that run what the files of a project say, with the subcommands that do not. */
const BUILDERS: ReadonlyMap<string, RegExp> = new Map<string, RegExp>([
  ..."make gmake cmake ninja meson just task rake bundle tox nox pytest gradle mvn ant sbt composer mix bazel pre-commit npx"
    .split(" ")
    .map((name) => [name, /^(?:--?version|-v|--?help|list)$/u] as const),
  ..."npm pnpm yarn bun"
    .split(" ")
    .map((name) => [name, /^(?:view|info|ls|list|outdated|why|search|audit|config|--version|-v)$/u] as const),
  ["cargo", /^(?:fetch|metadata|tree|search|info|fmt|--version|-V)$/u],
  ["go", /^(?:build|list|vet|fmt|mod|version|env|doc)$/u],
  ["pip", /^(?!install$)/u],
  ["pip3", /^(?!install$)/u],
  ["uv", /^(?:tree|lock|export|--version)$/u],
  ["poetry", /^(?:show|check|lock|--version)$/u],
  ["direnv", /^(?!allow$|exec$)/u],
])

/** Runs a script or the build of a repository that was cloned from another machine in this session. */
function runsCloned(call: Invocation): boolean {
  if (call.understood.after.remotes === undefined) return false
  const cloned = clones(call)
  if (cloned.length === 0) return false
  const isCloned = (path: string | undefined): boolean =>
    path !== undefined && cloned.some((directory) => isWithin(path, directory))
  if (executedFiles(call).some(isCloned)) return true
  const harmless = BUILDERS.get(call.program)
  if (harmless === undefined || harmless.test(subcommands(call)[0] ?? call.flags[0] ?? "")) return false
  const { directory } = call.command
  const values = call.words.map((word) => ({ ...word, text: word.text.replace(/^-[\w-]*=/u, "") }))
  return isCloned(directory) || values.some((word) => isCloned(absolutePath(word, directory)))
}

/** Files and settings that come from another repository. */
export const OTHER_REPOSITORY_RULES: readonly CommandRule[] = [
  {
    key: "git submodule from a new address",
    programs: ["git"],
    when: (call) => isSubmodule(call, "add", "set-url") || takesNewAddress(call),
    does: "adds the address of another repository to the settings of this one and loads its files",
    effects: CODE,
  },
  {
    key: "take files from another repository",
    programs: ["git"],
    when: (call) => mergesLocal(call) && !hasFlag(call, /^--dry-run$/u),
    does: "changes files as another repository says",
    effects: CODE,
  },
  {
    key: "run a downloaded file",
    programs: ["*"],
    when: runsCloned,
    does: "runs code of a repository that this session cloned",
    effects: CODE,
  },
]
