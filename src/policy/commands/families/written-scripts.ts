import { posix } from "node:path"
import { absolutePath } from "../command-paths.ts"
import { CODE } from "../command-rule.ts"
import type { CommandRule } from "../command-rule.ts"
import { optionValues } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { RISKY_TEXT } from "../risky-text-rules.ts"
import { FORK_BOMB, HARDLINE_TEXT, matchesText } from "../text-rules.ts"
import { textViews } from "../text-view.ts"
import { INTERPRETERS } from "./foreign-code.ts"
import { executedWords } from "../../executed-files.ts"
import type { ShellWord } from "../../shell/understood-command.ts"

const MAKERS: Readonly<Record<string, readonly string[]>> = {
  make: ["Makefile", "makefile", "GNUmakefile"],
  gmake: ["Makefile", "makefile", "GNUmakefile"],
  npm: ["package.json"],
  pnpm: ["package.json"],
  yarn: ["package.json"],
  bun: ["package.json"],
  just: ["justfile", "Justfile"],
  rake: ["Rakefile"],
  task: ["Taskfile.yml", "Taskfile.yaml"],
  cargo: ["build.rs", "Cargo.toml", ".cargo/config.toml"],
  cmake: ["CMakeLists.txt"],
  pytest: ["conftest.py", "pytest.ini", "setup.cfg"],
  tox: ["tox.ini"],
  gradle: ["build.gradle", "build.gradle.kts", "settings.gradle"],
  mvn: ["pom.xml"],
  bundle: ["Gemfile"],
  ansible: ["ansible.cfg"],
  "pre-commit": [".pre-commit-config.yaml"],
}

/** Files whose content decides what this command does. */
function executedFiles(call: Invocation): readonly string[] {
  const texts = INTERPRETERS.includes(call.program) ? executedWords(call.words.map(({ text }) => text)) : []
  const script = call.words.filter(({ text }) => texts.includes(text.replace(/^--?[\w-]+=/u, ""))).map(withoutOption)
  const implied = (MAKERS[call.program] ?? []).map((text): ShellWord => ({ text, known: true, pattern: false }))
  const given = MAKERS[call.program] === undefined ? [] : optionValues(call, "-f", "--file", "--makefile")
  return [...script, ...implied, ...given].flatMap((word) => absolutePath(word, call.command.directory) ?? [])
}

const withoutOption = (word: ShellWord): ShellWord => ({ ...word, text: word.text.replace(/^--?[\w-]+=/u, "") })

const DANGEROUS = [FORK_BOMB, ...HARDLINE_TEXT, ...RISKY_TEXT]

/** A file that this shell wrote says something that would be asked about on the command line. */
function runsDangerousText(call: Invocation): boolean {
  const { files } = call.understood.after
  if (files === undefined || files.size === 0) return false
  return executedFiles(call).some((path) => {
    const text = files.get(path)
    return (
      text !== undefined &&
      textViews(text, call.facts).some((view) => DANGEROUS.some((rule) => matchesText(rule, view)))
    )
  })
}

/** An interpreter runs a file that this shell downloaded or computed. */
function runsUnknownText(call: Invocation): boolean {
  const { files } = call.understood.after
  if (files === undefined || files.size === 0) return false
  const isMaker = MAKERS[call.program] !== undefined
  return executedFiles(call).some(
    (path) => files.has(path) && files.get(path) === undefined && (isMaker || posix.extname(path) !== ".json"),
  )
}

/** Scripts that the same shell wrote before it runs them. */
export const WRITTEN_SCRIPT_RULES: readonly CommandRule[] = [
  {
    key: "run a written file with a dangerous command",
    programs: [...INTERPRETERS, ...Object.keys(MAKERS)],
    when: runsDangerousText,
    does: "runs a file that this shell wrote and that contains a dangerous command",
    effects: CODE,
  },
  {
    key: "run a downloaded file",
    programs: [...INTERPRETERS, ...Object.keys(MAKERS)],
    when: runsUnknownText,
    does: "runs a file that this shell downloaded or computed",
    effects: CODE,
  },
]
