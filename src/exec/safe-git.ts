import { findTrustedProgram, trustedDirectories } from "../base/find-program.ts"

/**
 * How Hermes runs git for itself, outside the sandbox: an administrator's git, and nothing that a repository's configuration could make it
 * execute or fetch.
 */
export interface SafeGit {
  readonly program: string
  readonly environment: Readonly<Record<string, string>>
}

/** Undefined when git is not installed. */
export function findSafeGit(path: string): SafeGit | undefined {
  const program = findTrustedProgram("git", path)
  return program === undefined ? undefined : { program, environment: { PATH: trustedDirectories(path), ...NO_NETWORK } }
}

/** In a partial clone git would fetch a missing object, with a program that the repository's settings may name. */
const NO_NETWORK = {
  LC_ALL: "C",
  GIT_NO_LAZY_FETCH: "1",
  GIT_ALLOW_PROTOCOL: "",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_TERMINAL_PROMPT: "0",
  GIT_ASKPASS: "true",
  SSH_ASKPASS: "true",
  GIT_EDITOR: "true",
  GIT_PAGER: "cat",
}

/** Settings of a repository that name programs, overridden. Filters have names of their own: see `disabledFilters`. */
export const NO_PROGRAMS: readonly string[] = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.sshCommand=false",
  "core.gitProxy=false",
  "core.askPass=true",
  "core.editor=true",
  "core.pager=cat",
  "core.alternateRefsCommand=false",
  "credential.helper=",
  "protocol.allow=never",
  "commit.gpgSign=false",
  "tag.gpgSign=false",
  "gpg.program=false",
  "submodule.recurse=false",
  "gc.auto=0",
  "maintenance.auto=false",
].flatMap((setting) => ["-c", setting])

/** Overrides for the filters that a repository's own configuration defines, from the names of its settings. */
export function disabledFilters(names: readonly string[]): readonly string[] {
  const filters = new Set(names.flatMap((name) => /^filter\.(.+)\.[^.]+$/isu.exec(name)?.[1] ?? []))
  return [...filters].flatMap((filter) =>
    ["clean=", "smudge=", "process=", "required=false"].flatMap((setting) => ["-c", `filter.${filter}.${setting}`]),
  )
}
