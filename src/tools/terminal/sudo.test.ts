import { chmod, mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { processBench } from "../../../test/fixtures/tools/process-bench.ts"
import { toolBench } from "../../../test/fixtures/tools/tool-bench.ts"
import { createSudoPort } from "../../toolkit/ports/sudo.ts"
import type { SudoPort } from "../../toolkit/ports/sudo.ts"
import type { AskPort, QuestionOutcome } from "../../toolkit/ports/ask.ts"
import { processTool } from "../process/process.ts"
import { rewriteSudo } from "./sudo.ts"
import { terminal } from "./terminal.ts"

const PREFIX = "POSIXLY_CORRECT=1; \\unset -f command; \\unset POSIXLY_CORRECT\n"
const REAL = "\\command /usr/bin/sudo -S -p ''"

test.each([
  ["sudo apt update", `${REAL} apt update`, 1],
  ["VAR=1 sudo ls && sudo cat x", `VAR=1 ${REAL} ls && ${REAL} cat x`, 2],
  ["(sudo ls); echo 'sudo x' | sudo tee f", `(${REAL} ls); echo 'sudo x' | ${REAL} tee f`, 2],
  ["# sudo x\nsudo y", `# sudo x\n${REAL} y`, 1],
  ['x="$(sudo id)"', `x="$(${REAL} id)"`, 1],
  ["echo <<E\nsudo x\nE\n/usr/bin/sudo y", `echo <<E\nsudo x\nE\n${REAL} y`, 1],
  ["if true; then sudo x; fi", `if true; then ${REAL} x; fi`, 1],
])("%j becomes %j", (command, expected, count) => {
  expect(rewriteSudo(command, "/usr/bin/sudo")).toEqual({ command: PREFIX + expected, count, isShared: false })
})

test("sudo as an argument is no call", () => {
  expect(rewriteSudo("echo sudo", "/usr/bin/sudo")).toEqual({ command: "echo sudo", count: 0, isShared: false })
})

test.each([
  "sudo true; cat",
  "python3 x.py; sudo true",
  "sudo() { cat; }; sudo true",
  "function sudo { cat; }; sudo true",
  "command() { cat; }; sudo true",
  "alias sudo=cat; sudo true",
  "'su'do true; cat",
  "./sudo true; sudo true",
  "eval 'x() { :; }'; sudo true",
])("another program could read the password: %j", (command) => {
  expect(rewriteSudo(command, "/usr/bin/sudo").isShared).toBe(true)
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
  await chmod(join(box.home.userHome, "bin/sudo"), 0o4755)
  await writeFile(join(box.home.userHome, ".bashrc"), "export PATH=~/bin:$PATH\n")
  return box
}

/** The fake program counts as the installed one. */
function sudoPort(box: Awaited<ReturnType<typeof bench>>, password: string | undefined): SudoPort {
  return createSudoPort(password, { programs: [join(box.home.userHome, "bin/sudo")], isGenuine: () => true })
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
  const sudo = sudoPort(box, "opensesame")
  const content = await box.call(terminal, { command: "sudo echo one; sudo echo two; sudo cat" }, { ports: { sudo } })
  expect(content).toMatchObject({ output: "one\ntwo", exit_code: 0 })
  expect(JSON.stringify([content, box.progress])).not.toContain("opensesame")
})

test("a background command gets the password too, and it is not in its output", async () => {
  await using box = await bench()
  await using background = await processBench(box)
  const ports = { ...background.ports, sudo: sudoPort(box, "opensesame") }
  await box.call(terminal, { command: "sudo echo one; sudo echo opensesame", background: true }, { ports })
  expect(await box.call(processTool, { action: "wait", session_id: "proc_1" }, { ports })).toMatchObject({
    output: "one\n***\n",
  })
})

test("the user is asked once per session", async () => {
  await using box = await bench()
  const ask = user({ kind: "answer", text: "opensesame" })
  const ports = { sudo: sudoPort(box, undefined), ask }
  expect(await box.call(terminal, { command: "sudo echo one" }, { ports })).toMatchObject({ output: "one" })
  expect(await box.call(terminal, { command: "sudo echo two" }, { ports })).toMatchObject({ output: "two" })
  expect(ask.asked).toEqual(["sudo"])
})

test("after a wrong password the user is asked again", async () => {
  await using box = await bench()
  const ask = user({ kind: "answer", text: "wrong" }, { kind: "answer", text: "opensesame" })
  const ports = { sudo: sudoPort(box, undefined), ask }
  expect(await box.call(terminal, { command: "sudo echo one" }, { ports })).toMatchObject({ exit_code: 1 })
  expect(await box.call(terminal, { command: "sudo echo one" }, { ports })).toMatchObject({ output: "one" })
  expect(ask.asked).toEqual(["sudo", "sudo"])
})

test.each([{ kind: "unattended" }, { kind: "timeout" }, { kind: "answer", text: "" }] as const)(
  "without an answer (%j) it runs without a password, with a hint for the model",
  async (answer) => {
    await using box = await bench()
    const ports = { sudo: sudoPort(box, undefined), ask: user(answer) }
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
  const ports = { sudo: sudoPort(box, undefined), ask }
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
  for (const sudo of [sudoPort(box, "opensesame"), sudoPort(box, undefined)]) {
    const said = await box.call(
      terminal,
      { command: "sudo() { cat; }; sudo true; cat | rev" },
      { ports: { sudo, ask }, workspace },
    )
    expect(said).toMatchObject({ output: "", exit_code: 0 })
  }
  expect(ask.asked).toEqual([])
})

test("a sudo that comes first on the PATH gets no password", async () => {
  await using box = await bench()
  const posing = join(box.home.workdir, "bin")
  await mkdir(posing)
  await writeFile(join(posing, "sudo"), "#!/bin/sh\necho posing; cat\n")
  await chmod(join(posing, "sudo"), 0o755)
  const ports = { sudo: sudoPort(box, "opensesame") }
  await box.call(terminal, { command: `export PATH=${posing}:$PATH; command() { cat; }; true` })
  expect(await box.call(terminal, { command: "sudo echo one" }, { ports })).toMatchObject({ output: "one" })
  const none = { sudo: createSudoPort("opensesame", { programs: [join(posing, "sudo")] }) }
  expect(await box.call(terminal, { command: "sudo echo one" }, { ports: none })).toMatchObject({ output: "posing" })
})
