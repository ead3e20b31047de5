import { NAMES_PROGRAM, isDangerousVariable, leadsToCode, obeyedVariables } from "../code-variables.ts"
import type { VariableLocation } from "../code-variables.ts"
import { CODE, PERSON } from "../command-rule.ts"
import type { CommandRule } from "../command-rule.ts"
import { optionValues } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import type { ShellWord } from "../../shell/understood-command.ts"

interface Assignment {
  readonly name: string
  readonly value: ShellWord
}

/** Variables that a command sets for itself, for what it starts or for the rest of the shell. */
function assignments(call: Invocation): readonly Assignment[] {
  if (BUILD_PROGRAMS.has(call.program))
    return [...(call.isWrapper ? [] : call.command.assignments), ...buildVariables(call)]
  if (!DECLARING.has(call.program)) return call.isWrapper ? [] : call.command.assignments
  const declared = call.words.flatMap((word) => {
    const parts = /^([A-Za-z_]\w*)\+?=(.*)$/su.exec(word.text)
    return parts === null ? [] : { name: parts[1] ?? "", value: { ...word, text: parts[2] ?? "" } }
  })
  return call.isWrapper ? declared : [...call.command.assignments, ...declared]
}

const DECLARING = new Set([
  "export",
  "declare",
  "typeset",
  "readonly",
  "local",
  "env",
  "setenv",
  "sudo",
  "set",
  "cross-env",
])

const BUILD_PROGRAMS: ReadonlySet<string> = new Set("make gmake bmake configure cmake scons".split(" "))

/** `make CC=clang`, `./configure CC=clang`, `cmake -DCMAKE_C_COMPILER=clang`. Other names are variables of the project. */
function buildVariables(call: Invocation): readonly Assignment[] {
  return call.words.flatMap((word) => {
    const [, name = "", value = ""] = /^(?:-D\s*)?([A-Za-z_]\w*)(?::[A-Z]+)?[:?+!]*=(.*)$/su.exec(word.text) ?? []
    return NAMES_PROGRAM.test(name) ? { name, value: { ...word, text: value } } : []
  })
}

/** True when a variable names a program of the project, which counts as reviewed if it is in a commit. */
export function namesProjectProgram(call: Invocation): boolean {
  const variables = [...call.understood.after.variables].map(([name, text]) => ({ name, value: { text: text ?? "" } }))
  return [...assignments(call), ...variables].some(
    ({ name, value }) => NAMES_PROGRAM.test(name) && value.text.includes("/"),
  )
}

const locationOf = ({ command: { directory }, facts, understood }: Invocation): VariableLocation => ({
  directory,
  facts,
  variables: understood.after.variables,
})

const changes = (call: Invocation): readonly Assignment[] =>
  assignments(call).filter(({ name, value }) => isDangerousVariable(name, value, locationOf(call)))

/** Variables that an earlier command set and that this program obeys. What it sets itself is found by `changes`. */
function inheritsDangerous(call: Invocation): boolean {
  const { variables, unexported } = call.understood.after
  if (variables.size === 0 || call.isWrapper) return false
  const obeyed = obeyedVariables(call.program)
  if (obeyed.length === 0) return false
  const location = locationOf(call)
  return [...variables].some(
    ([name, value]) =>
      value !== undefined &&
      unexported?.has(name) !== true &&
      !call.command.assignments.some((own) => own.name === name) &&
      obeyed.some((names) => names.test(name)) &&
      isDangerousVariable(name, { text: value, known: true }, location),
  )
}

/** `read CC < file`: the value is not known, and no assignment shows it. */
function readsCodeVariable(call: Invocation): boolean {
  const words = call.program === "printf" ? optionValues(call, "-v") : call.operands
  return words.some(({ text }) => leadsToCode(text))
}

export const ENVIRONMENT_RULES: readonly CommandRule[] = [
  {
    key: "environment variable that changes what programs run",
    programs: ["*", "env", "sudo", "cross-env"],
    when: (call) => changes(call).length > 0,
    does: "sets a variable that decides which code programs run",
    effects: CODE,
  },
  {
    key: "environment variable that changes what programs run",
    programs: ["*"],
    when: inheritsDangerous,
    does: "uses a variable that an earlier command set and that decides which code it runs",
    effects: CODE,
  },
  {
    key: "environment variable that changes what programs run",
    programs: ["read", "mapfile", "readarray", "printf"],
    when: readsCodeVariable,
    does: "sets a variable that decides which code programs run",
    effects: CODE,
  },
  {
    key: "environment variable that changes what programs run",
    programs: ["make", "gmake", "bmake"],
    when: (call) =>
      [...call.words, ...call.command.assignments.map(({ value }) => value)].some(({ text }) => MAKE_SHELL.test(text)),
    does: "passes make a command that it runs when it reads the variable",
    effects: CODE,
  },
  {
    key: "send commands to another container service or cluster",
    programs: ["*", "env", "sudo", "cross-env"],
    when: (call) =>
      assignments(call).some(
        ({ name, value: { text } }) => SERVICE_ADDRESS.test(name) && /^(?:tcp|ssh|https?):/u.test(text),
      ),
    does: "sets which machine later commands act on",
    effects: PERSON,
  },
]

/** The function of make that runs a command. */
const MAKE_SHELL = /\$[({]shell\s/u
const SERVICE_ADDRESS = /^(?:DOCKER_HOST|CONTAINER_HOST|KUBERNETES_MASTER|NOMAD_ADDR|CONSUL_HTTP_ADDR|VAULT_ADDR)$/u
