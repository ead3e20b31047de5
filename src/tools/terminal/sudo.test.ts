import { chmod, mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { processBench } from "../../../test/fixtures/tools/process-bench.ts"
import { toolBench } from "../../../test/fixtures/tools/tool-bench.ts"
import { createSudoPort } from "../../toolkit/ports/sudo.ts"
import type { AskPort, QuestionOutcome } from "../../toolkit/ports/ask.ts"
import { processTool } from "../process/process.ts"
import { rewriteSudo } from "./sudo.ts"
import { terminal } from "./terminal.ts"

test.each([
  ["sudo apt update", "sudo -S -p '' apt update", 1],
  ["echo sudo", "echo sudo", 0],
  ["VAR=1 sudo ls && sudo cat x", "VAR=1 sudo -S -p '' ls && sudo -S -p '' cat x", 2],
  ["(sudo ls); echo 'sudo x' | sudo tee f", "(sudo -S -p '' ls); echo 'sudo x' | sudo -S -p '' tee f", 2],
  ["# sudo x\nsudo y", "# sudo x\nsudo -S -p '' y", 1],
  ['x="$(sudo id)"', `x="$(sudo -S -p '' id)"`, 1],
  ["cat <<E\nsudo x\nE\n/usr/bin/sudo y", "cat <<E\nsudo x\nE\n/usr/bin/sudo -S -p '' y", 1],
  ["if true; then sudo x; fi", "if true; then sudo -S -p '' x; fi", 1],
])("%j becomes %j", (command, expected, count) => {
  expect(rewriteSudo(command)).toEqual({ command: expected, count })
})

/** Takes the password "opensesame" from its input; refuses without one. */
const FAKE_SUDO = `#!/bin/bash
if [ "$1" = -n ]; then exit 1; fi
if [ "$1" != -S ]; then echo "sudo: a terminal is required to read the password" >&2; exit 1; fi
shift 3
IFS= read -r password
if [ "$password" != opensesame ]; then echo "sudo: 1 incorrect password attempt" >&2; exit 1; fi
"$@"
`

async function bench() {
  const box = await toolBench()
  await mkdir(join(box.home.userHome, "bin"))
  await writeFile(join(box.home.userHome, "bin/sudo"), FAKE_SUDO)
  await chmod(join(box.home.userHome, "bin/sudo"), 0o755)
  await writeFile(join(box.home.userHome, ".bashrc"), "export PATH=~/bin:$PATH\n")
  return box
}

function user(...answers: readonly QuestionOutcome[]): AskPort & { readonly asked: string[] } {
  const asked: string[] = []
  return {
    asked,
    ask: (question) => {
      asked.push(question.kind)
      return Promise.resolve(answers[asked.length - 1] ?? { kind: "unattended" })
    },
  }
}

test("the configured password is passed to every sudo and never shown", async () => {
  await using box = await bench()
  const sudo = createSudoPort("opensesame")
  const content = await box.call(
    terminal,
    { command: "sudo echo one; sudo echo two; cat; sudo cat" },
    { ports: { sudo } },
  )
  expect(content).toMatchObject({ output: "one\ntwo\n***\nsudo: 1 incorrect password attempt", exit_code: 1 })
  expect(JSON.stringify([content, box.progress])).not.toContain("opensesame")
})

test("a background command gets the password too, and it is not in its output", async () => {
  await using box = await bench()
  await using background = await processBench(box)
  const ports = { ...background.ports, sudo: createSudoPort("opensesame") }
  await box.call(terminal, { command: "sudo echo one; cat <<<opensesame", background: true }, { ports })
  expect(await box.call(processTool, { action: "wait", session_id: "proc_1" }, { ports })).toMatchObject({
    output: "one\n***\n",
  })
})

test("the user is asked once per session", async () => {
  await using box = await bench()
  const ask = user({ kind: "answer", text: "opensesame" })
  const ports = { sudo: createSudoPort(undefined), ask }
  expect(await box.call(terminal, { command: "sudo echo one" }, { ports })).toMatchObject({ output: "one" })
  expect(await box.call(terminal, { command: "sudo echo two" }, { ports })).toMatchObject({ output: "two" })
  expect(ask.asked).toEqual(["sudo"])
})

test("after a wrong password the user is asked again", async () => {
  await using box = await bench()
  const ask = user({ kind: "answer", text: "wrong" }, { kind: "answer", text: "opensesame" })
  const ports = { sudo: createSudoPort(undefined), ask }
  expect(await box.call(terminal, { command: "sudo echo one" }, { ports })).toMatchObject({ exit_code: 1 })
  expect(await box.call(terminal, { command: "sudo echo one" }, { ports })).toMatchObject({ output: "one" })
  expect(ask.asked).toEqual(["sudo", "sudo"])
})

test.each([{ kind: "unattended" }, { kind: "timeout" }, { kind: "answer", text: "" }] as const)(
  "without an answer (%j) it runs without a password, with a hint for the model",
  async (answer) => {
    await using box = await bench()
    const ports = { sudo: createSudoPort(undefined), ask: user(answer) }
    expect(await box.call(terminal, { command: "sudo echo one" }, { ports })).toEqual({
      output:
        "sudo: a terminal is required to read the password\n[sudo needs a password and no user could be asked. " +
        "The user can set SUDO_PASSWORD in the .env file of the Hermes home.]",
      exit_code: 1,
      error: null,
    })
  },
)

test("a sudo without password does not ask the user", async () => {
  await using box = await bench()
  await writeFile(join(box.home.userHome, "bin/sudo"), '#!/bin/sh\n[ "$1" = -n ] && shift\n"$@"\n')
  const ask = user()
  const workspace = { ...box.workspace, kind: "local" as const }
  const ports = { sudo: createSudoPort(undefined), ask }
  await box.call(terminal, { command: "export PATH=~/bin:$PATH" })
  expect(await box.call(terminal, { command: "sudo echo one" }, { ports, workspace })).toMatchObject({ output: "one" })
})

test("where commands cannot gain privileges, the user is not asked and no password is passed", async () => {
  await using box = await bench()
  const ask = user({ kind: "answer", text: "opensesame" })
  const inside = (command: string): string =>
    `setpriv --no-new-privs bash -c '${command.replaceAll("'", String.raw`'\\''`)}'`
  const workspace: typeof box.workspace = {
    ...box.workspace,
    kind: "local",
    run: (command, options) => box.workspace.run(inside(command), options),
  }
  for (const sudo of [createSudoPort("opensesame"), createSudoPort(undefined)]) {
    const said = await box.call(
      terminal,
      { command: "sudo() { cat; }; sudo true; cat | rev" },
      { ports: { sudo, ask }, workspace },
    )
    expect(said).toMatchObject({ output: "", exit_code: 0 })
  }
  expect(ask.asked).toEqual([])
})
