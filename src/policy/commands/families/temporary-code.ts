import { absolutePath } from "../command-paths.ts"
import { CODE } from "../command-rule.ts"
import type { CommandRule } from "../command-rule.ts"
import { optionValues } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { isWithin } from "../../file-floor.ts"

/** Options that name code or settings which the program executes. */
const CODE_OPTIONS: Readonly<Record<string, string>> = {
  make: "-C --directory -f --file --makefile",
  gmake: "-C --directory -f --file --makefile",
  ninja: "-C -f",
  cmake: "-P -C",
  just: "-f --justfile --shell",
  task: "-t --taskfile -d --dir",
  rake: "-f --rakefile",
  npm: "--prefix -C",
  pnpm: "-C --dir",
  yarn: "--cwd",
  cargo: "--manifest-path --config -C",
  rustc: "-Clinker",
  go: "-C -vettool -overlay",
  gradle: "-I --init-script -b --build-file -p --project-dir",
  mvn: "-f --file -s --settings",
  pytest: "-c --rootdir -p --confcutdir",
  eslint: "--rulesdir -c --config --resolve-plugins-relative-to",
  prettier: "--plugin --config",
  mocha: "-r --require --config",
  jest: "--config -c --setupFiles --globalSetup",
  vitest: "--config -c",
  webpack: "-c --config",
  vite: "-c --config",
  tsc: "-p --project",
  rg: "--pre",
  awk: "-f --file -l --load",
  gawk: "-f --file -l --load -i --include -E --exec",
  dc: "-f --file",
  tcc: "-run",
  sed: "-f --file",
  vim: "-S -u -U",
  nvim: "-S -u",
  emacs: "-l --load",
  nano: "-s --speller -f --rcfile",
  clang: "-fplugin -B -specs",
  gcc: "-fplugin -B -specs",
  ld: "-plugin --plugin -dynamic-linker",
  perl: "-I",
  ruby: "-I -r",
  php: "-c",
  docker: "-f --file",
  "docker-compose": "-f --file",
  kubectl: "--kubeconfig",
  ansible: "-i",
  pip: "-r --requirement",
  git: "--git-dir",
  bun: "--preload -r",
  tsx: "--import -r",
}

const TEMPORARY = /^\/(?:tmp|var\/tmp|dev\/shm)(?:\/|$)/u

const isTemporary = (path: string | undefined, { facts }: Invocation): boolean =>
  path !== undefined && TEMPORARY.test(path) && !isWithin(path, facts.workspaceRoot) && !isWithin(path, facts.userHome)

function loadsTemporaryCode(call: Invocation): boolean {
  const names = CODE_OPTIONS[call.program]?.split(" ") ?? []
  const attached = call.words.flatMap((word) => {
    const name = names.find((option) => word.text.startsWith(`${option}=`))
    return name === undefined ? [] : { ...word, text: word.text.slice(name.length + 1) }
  })
  return [...optionValues(call, ...names), ...attached].some((word) =>
    isTemporary(absolutePath(word, call.command.directory), call),
  )
}

/** Any user of the machine may have written what lies in a temporary directory. */
export const TEMPORARY_CODE_RULES: readonly CommandRule[] = [
  {
    key: "load code from a temporary directory",
    programs: Object.keys(CODE_OPTIONS),
    when: loadsTemporaryCode,
    does: "executes code or settings from a temporary directory",
    effects: CODE,
  },
  {
    key: "load code from a temporary directory",
    programs: ["*"],
    when: (call) =>
      call.command.wrappers.some(({ program }) => program === "find" || program === "fd") &&
      isTemporary(absolutePath(call.command.argv[0] ?? NONE, "/"), call),
    does: "executes a program from a temporary directory",
    effects: CODE,
  },
]

const NONE = { text: "", known: true, pattern: false }
