import { execFileSync, spawnSync } from "node:child_process"
import { chmodSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { renderCompletion, type Shell } from "./render-completion.ts"
import { COMMAND_TREE } from "../command-table/command-tree.ts"
import { createCliHome } from "../../../test/support/cli-home.ts"

/** The suggestions of a real bash for the last word, with a fake `hermes` program. */
function completions(words: readonly string[]): readonly string[] {
  using home = createCliHome()
  const script = join(home.directory, "hermes.bash")
  const program = join(home.directory, "hermes")
  writeFileSync(script, renderCompletion("bash", COMMAND_TREE))
  writeFileSync(
    program,
    `#!/bin/sh
[ "$1" = -p ] && { echo "of $2 title"; exit; }
case "$3" in profile) printf 'default\\ncoder\\n' ;; session) printf 'My work\\nMusic\\n' ;; log) printf 'agent\\nerrors\\n' ;; esac`,
  )
  chmodSync(program, 0o755)
  mkdirSync(join(home.directory, "data"))
  const line = words.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(" ")
  const out = execFileSync(
    "bash",
    [
      "--norc",
      "-c",
      `source ${script}; cd ${home.directory}; COMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; _hermes; printf '%s\\n' "\${COMPREPLY[@]}"`,
    ],
    { encoding: "utf8", env: { PATH: `${home.directory}:/usr/bin:/bin` } },
  )
  return out.split("\n").filter((entry) => entry !== "")
}

describe("bash", () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ["commands", ["hermes", "ses"], ["sessions"]],
    ["no command of a later release", ["hermes", "cro"], []],
    ["subcommands", ["hermes", "sessions", "un"], ["unarchive"]],
    ["aliases", ["hermes", "sessions", "l"], ["list", "ls"]],
    ["flags of the command", ["hermes", "sessions", "ls", "--l"], ["--limit"]],
    ["global flags", ["hermes", "--prov"], ["--provider"]],
    ["chat flags without chat", ["hermes", "--outp"], ["--output-format"]],
    ["choices", ["hermes", "chat", "--output-format", ""], ["text", "json", "stream-json"]],
    ["choices after =", ["hermes", "chat", "--output-format", "=", "j"], ["json"]],
    ["positional choices", ["hermes", "completion", "z"], ["zsh"]],
    ["profiles", ["hermes", "-p", ""], ["default", "coder"]],
    ["titles with spaces are quoted", ["hermes", "-r", "M"], [String.raw`My\ work`, "Music"]],
    ["titles inside quotes are not quoted again", ["hermes", "-c", '"My'], ["My work"]],
    ["titles of the chosen profile", ["hermes", "-p", "coder", "-r", ""], [String.raw`of\ coder\ title`]],
    ["a value is not a command", ["hermes", "-m", "sessions", "lo"], ["logs"]],
    ["commands after a value", ["hermes", "-p", "coder", "vers"], ["version"]],
    ["an optional value ends at a flag", ["hermes", "-c", "--qui"], ["--quiet"]],
    ["logs", ["hermes", "logs", "err"], ["errors"]],
    ["directories", ["hermes", "chat", "--cwd", "da"], ["data"]],
    ["files", ["hermes", "import", "hermes.b"], ["hermes.bash"]],
    ["nothing for free text", ["hermes", "-m", ""], []],
  ])("%s", (_name, words, expected) => {
    expect(completions(words)).toEqual(expected)
  })
})

describe("each shell accepts its script", () => {
  test.for<[Shell, readonly string[]]>([
    ["bash", ["-n"]],
    ["zsh", ["-n"]],
    ["fish", ["--no-execute"]],
  ])("%s", ([shell, check], context) => {
    const found = spawnSync(shell, ["--version"]).status === 0
    context.skip(!found, `${shell} is not installed here`)
    using home = createCliHome()
    const script = join(home.directory, "script")
    writeFileSync(script, renderCompletion(shell, COMMAND_TREE))
    expect(spawnSync(shell, [...check, script], { encoding: "utf8" })).toMatchObject({ status: 0, stderr: "" })
  })
})

describe("candidates", () => {
  test.each<[string, string]>([
    ["profile", "default\ncoder\n"],
    ["log", "agent\nerrors\ngateway\ngui\nlist\n"],
    ["session", ""],
    ["skill", "notes\nreview\n"],
  ])("%s", async (kind, out) => {
    using home = createCliHome()
    mkdirSync(home.home.file("profiles", "coder"), { recursive: true })
    for (const skill of ["skills/writing/notes", "skills/review"]) {
      mkdirSync(home.home.file(skill), { recursive: true })
      writeFileSync(home.home.file(skill, "SKILL.md"), "")
    }
    expect(await home.run(["completion", "--candidates", kind])).toEqual({ code: 0, out, err: "" })
  })

  test.each([
    ["provider", "anthropic"],
    ["toolset", "file"],
    ["setting", "agent.max_turns"],
  ])("%s includes %s", async (kind, word) => {
    using home = createCliHome()
    expect((await home.run(["completion", "--candidates", kind])).out.split("\n")).toContain(word)
  })

  test("a broken database yields no suggestions and no error message", async () => {
    using home = createCliHome()
    mkdirSync(home.home.file("state.db"))
    expect(await home.run(["completion", "--candidates", "session"])).toEqual({ code: 0, out: "", err: "" })
  })

  test("an unknown kind and a missing shell are usage errors", async () => {
    using home = createCliHome()
    expect((await home.run(["completion", "--candidates", "x"])).code).toBe(2)
    expect(await home.run(["completion"])).toEqual({
      code: 2,
      out: "",
      err: "Name your shell: hermes completion bash, hermes completion zsh or hermes completion fish.\n",
    })
  })
})
