import { describe, expect, test } from "vitest"

import { UNDERSTOOD_LINES } from "../../../test/fixtures/policy/understood-lines.ts"
import { INITIAL_SHELL_STATE, understandCommand } from "./understand-command.ts"
import type { SimpleCommand, UnderstoodCommand } from "./understood-command.ts"

const FACTS = { userHome: "/home/alice" }

function understand(line: string, before: readonly string[] = []): UnderstoodCommand {
  const state = before.reduce(
    (earlier, command) => understandCommand(command, earlier, FACTS).after,
    INITIAL_SHELL_STATE("/w"),
  )
  return understandCommand(line, state, FACTS)
}

function quote(text: string): string {
  return /^[^\s"|@#&]+$/u.test(text) ? text : JSON.stringify(text)
}

function show(command: SimpleCommand): string {
  const { assignments, wrappers, argv, redirections, background, directory, source } = command
  return [
    ...assignments.map(({ name, value }) => `${name}=${value.known ? "" : "?"}${quote(value.text)}`),
    ...wrappers.map(({ program }) => `${program}>`),
    ...argv.map(({ text, known, pattern }) => `${known ? "" : "?"}${pattern ? "~" : ""}${quote(text)}`),
    ...redirections.map(({ descriptor, operator, target }) => `${descriptor ?? ""}${operator}${quote(target.text)}`),
    ...(background ? ["&"] : []),
    ...(directory === "/w" || source === "remote" ? [] : [`@${directory ?? "?"}`]),
    ...(source === "line" ? [] : [`#${source}`]),
  ].join(" ")
}

function summary({ commands, doubts }: UnderstoodCommand): readonly string[] {
  return [...commands.map((command) => show(command)), ...new Set(doubts.map(({ kind }) => `doubt ${kind}`))]
}

describe.each(Object.entries(UNDERSTOOD_LINES))("%s", (_, lines) => {
  test.each(lines.map(([line, expected, before = []]) => ({ line, expected, before })))("$line", (row) => {
    expect(summary(understand(row.line, row.before))).toEqual(row.expected)
  })
})

describe("a command", () => {
  test("has its text with and without wrappers, and its program folded to lower case", () => {
    const [command] = understand("X=1 sudo -u root /bin/RM  -rf 'a b'").commands
    expect(command).toMatchObject({
      program: "rm",
      text: "/bin/RM -rf a b",
      wholeText: "X=1 sudo -u root /bin/RM -rf a b",
      wrappers: [{ program: "sudo", argv: [{ text: "sudo" }, { text: "-u" }, { text: "root" }] }],
    })
  })

  test.each([
    ["ｒｍ x", "rm"],
    ["RM x", "rm"],
    ["r\u200Bm x", "rm"],
    ["/usr/bin/ls", "ls"],
    ["$x", undefined],
    ["/bin/r?", undefined],
  ])("%j is the program %j", (line, program) => {
    expect(understand(line).commands[0]?.program).toBe(program)
  })

  test("says what it reads", () => {
    expect(understand("a | b").commands[1]?.input).toEqual({ kind: "command", index: 0 })
    expect(understand("a < f").commands[0]?.input).toMatchObject({ kind: "file", path: { text: "f" } })
    expect(understand("a <<< x").commands[0]?.input).toMatchObject({ kind: "text", word: { text: "x", known: true } })
    expect(understand("a <<E\nb $x\nE").commands[0]?.input).toMatchObject({
      kind: "text",
      word: { text: "b $x\n", known: false },
    })
  })

  test("on another machine names it", () => {
    expect(understand("ssh u@h ls").commands[1]).toMatchObject({
      source: "remote",
      remote: "u@h",
      directory: undefined,
    })
    expect(understand("docker exec web ls").commands[1]).toMatchObject({ source: "remote", remote: "web" })
  })

  test("that is repeated by a loop is listed once", () => {
    expect(understand("for x in 1 2 3; do ls; done").commands).toHaveLength(1)
  })
})

describe("the state after a command", () => {
  test("has the directory, variables, functions, aliases and written files", () => {
    const { after } = understand("cd a; export x=1; y=2; z=$(date); f() { ls; }; alias l='ls -l'; echo hi > b")
    expect(after.directory).toBe("/w/a")
    expect([...after.variables]).toContainEqual(["x", "1"])
    expect([...after.variables]).toContainEqual(["z", undefined])
    expect(after.unexported).toEqual(new Set(["y", "z", "OLDPWD"]))
    expect([...after.functions]).toEqual([["f", "{ ls; }"]])
    expect([...after.aliases]).toEqual([["l", "ls -l"]])
    expect([...(after.files ?? [])]).toEqual([["/w/a/b", "hi\n"]])
  })

  test("does not have what a subshell, a pipeline or a background command changed", () => {
    const { after } = understand("(cd a; x=1); cd b | cd c; cd d &")
    expect(after.directory).toBe("/w")
    expect(after.variables.has("x")).toBe(false)
  })
})

describe("limits", () => {
  const kinds = (line: string): readonly string[] => [...new Set(understand(line).doubts.map(({ kind }) => kind))]

  test("a line over 256 KB, too many commands and too much work are doubts", () => {
    expect(kinds(`echo ${"a".repeat(262_144)}`)).toContain("length")
    expect(kinds(Array.from({ length: 2100 }, (_, number) => `ls ${number}`).join("\n"))).toContain("length")
    expect(
      kinds("for a in {1..60}; do for b in {1..60}; do for c in {1..60}; do echo $a$b$c; done; done; done"),
    ).toContain("length")
  })

  test("the sixth shell inside each other is a doubt", () => {
    const nest = (depth: number): string => (depth === 0 ? "ls" : `sh -c ${quoted(nest(depth - 1))}`)
    expect(kinds(nest(5))).toEqual([])
    expect(kinds(nest(6))).toEqual(["depth"])
  })

  test.each([
    ["substitutions", "$(", ")"],
    ["subshells", "(", ")"],
    ["groups", "{ ", "; }"],
    ["expansions", "${x:-", "}"],
    ["arithmetic", "$((", "))"],
    ["conditions", "if a; then ", "; fi"],
    ["wrappers", "sudo ", ""],
    ["functions", "f() { ", "; }"],
    ["function words", "function f ", ""],
    ["braces", "{a,", "}"],
  ])("5,000 nested %s end in a doubt", (_, open, close) => {
    expect(kinds(`${open.repeat(5000)}ls${close.repeat(5000)}`)).not.toEqual([])
  })

  test("braces are counted where the shell expands them", () => {
    const braces = "{a,".repeat(700)
    expect(kinds(`cat > x.js <<'EOF'\n${braces}\nEOF`)).toEqual([])
    expect(kinds(`cat > x.js <<-EOF\n${braces}\n\tEOF\n`)).toEqual([])
    expect(kinds(`cat <<'EOF'\nx\nEOF\necho ${braces}`)).toEqual(["syntax"])
    expect(kinds(`echo '<<EOF'\necho ${braces.repeat(10)}\nEOF`)).toEqual(["syntax"])
  })

  test("a value that doubles again and again is not kept", () => {
    expect(kinds(`x=aaaaaaaa; ${"x=$x$x; ".repeat(60)}$x`)).toContain("program")
  })
})

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
