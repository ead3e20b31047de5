import { asPart } from "./name-source.ts"
import type { NameSource, ShellState, ShellWord } from "./understood-command.ts"

/** What a variable of the shell holds, as far as the line says. */
export type Value =
  | { readonly kind: "text"; readonly word: ShellWord }
  /** An array; keys are the indexes or the names of its elements. */
  | { readonly kind: "list"; readonly items: ReadonlyMap<string, ShellWord> }
  | { readonly kind: "unset" }
  | { readonly kind: "unknown"; readonly names?: NameSource | undefined }
  /** One of these, depending on a condition that is not known. */
  | { readonly kind: "either"; readonly values: readonly Value[] }

export const UNSET: Value = { kind: "unset" }
export const UNKNOWN: Value = { kind: "unknown" }
/** A variable of the environment, which may be set or not. One object, so that all of them are decided together. */
export const UNSET_OR_UNKNOWN = { kind: "either", values: [UNSET, UNKNOWN] } as const satisfies Value

/** A value of which only its source is known. */
export function unknownFrom(names: NameSource | undefined): Value {
  return names === undefined ? UNKNOWN : { kind: "unknown", names }
}

/** The list that a value comes from. */
export function nameSource(value: Value): NameSource | undefined {
  if (value.kind === "unknown") return value.names
  if (value.kind === "text") return value.word.names
  return value.kind === "either" ? asPart(value.values.map(nameSource).find((names) => names !== undefined)) : undefined
}

export function textValue(text: string): Value {
  return { kind: "text", word: knownWord(text) }
}

export function knownWord(text: string): ShellWord {
  return { text, known: true, pattern: false }
}

export interface ShellFunction {
  /** Source text of the body; undefined when it is not known. */
  readonly body: string | undefined
  /** False when it depends on a condition whether it is defined. */
  readonly certain: boolean
}

/** Possible working directories, most likely first; undefined stands for one that is not known. */
export type Directories = readonly (string | undefined)[]

const MOST_ALTERNATIVES = 4
const MOST_REFERENCES = 100
/** Names that stand for names that stand for others. */
const LONGEST_REFERENCE = 8

/** Variables, functions, aliases and the directory of one shell. A subshell gets a copy, which costs nothing until it is written. */
export class Scope {
  #variables: Map<string, Value>
  #functions: Map<string, ShellFunction>
  #aliases: Map<string, string | undefined>
  #exported: Set<string>
  /** `declare -n name=target`: the variable that a name stands for. */
  #references: ReadonlyMap<string, string> = new Map()
  #isShared = false
  /** What the local variables of the running function had before. */
  #locals: Map<string, Value | undefined> | undefined
  directories: Directories
  earlierDirectories: readonly Directories[]
  /** `$1` and so on; undefined when they are not known. */
  positional: readonly ShellWord[] | undefined
  /** `$0`. */
  program: ShellWord = knownWord("bash")
  exportsEverything = false
  /** Text that commands have written to files in this shell; undefined when it is not known. */
  readonly files: Map<string, string | undefined>
  /** Symbolic links that commands have made in this shell. */
  readonly links: Map<string, string>
  /** Files that commands of this shell made of programs; see `ShellState`. */
  readonly copies: Map<string, string>
  /** Files that were sourced in this shell and whose text is not known. */
  readonly sourced: Set<string>
  /** Where git pushes to since commands of this shell changed it; see `ShellState`. */
  readonly remotes: Set<string>

  constructor(from: Scope | ShellState) {
    if (from instanceof Scope) {
      this.#variables = from.#variables
      this.#functions = from.#functions
      this.#aliases = from.#aliases
      this.#exported = from.#exported
      this.#references = from.#references
      this.#locals = from.#locals && new Map(from.#locals)
      this.#isShared = true
      from.#isShared = true
      this.directories = from.directories
      this.earlierDirectories = from.earlierDirectories
      this.positional = from.positional
      this.program = from.program
      this.exportsEverything = from.exportsEverything
      this.files = from.files
      this.links = from.links
      this.copies = from.copies
      this.sourced = from.sourced
      this.remotes = from.remotes
      return
    }
    this.#variables = new Map()
    this.#exported = new Set()
    for (const [name, text] of from.variables) {
      const value = text === undefined ? listValue(from.lists?.get(name), from.listed?.get(name)) : textValue(text)
      // A variable that was not exported is lost unless the environment already had it.
      if (from.unexported?.has(name) === true) this.#variables.set(name, { kind: "either", values: [value, UNSET] })
      else {
        this.#variables.set(name, value)
        this.#exported.add(name)
      }
    }
    // A command that was killed left no state behind, so an earlier function may not exist.
    this.#functions = new Map([...from.functions].map(([name, body]) => [name, { body, certain: false }]))
    this.#aliases = new Map(from.aliases)
    this.directories = [from.directory]
    this.earlierDirectories = []
    this.positional = []
    this.files = new Map(from.files ?? [])
    this.links = new Map(from.links ?? [])
    this.copies = new Map(from.copies ?? [])
    this.sourced = new Set(from.sourced ?? [])
    this.remotes = new Set(from.remotes ?? [])
  }

  fork(): Scope {
    return new Scope(this)
  }

  /** The scope of a shell that is started as a program: it inherits only what is exported. */
  child(): Scope {
    const scope = new Scope(this)
    scope.#own()
    for (const [name, value] of scope.#variables) {
      if (!scope.#exported.has(name)) scope.#variables.set(name, joinValues(value, UNSET))
    }
    for (const [name, { body }] of scope.#functions) scope.#functions.set(name, { body, certain: false })
    return scope
  }

  variable(name: string): Value | undefined {
    return this.#variables.get(this.variableName(name))
  }

  setVariable(written: string, value: Value): void {
    const name = this.variableName(written)
    this.#own()
    this.#variables.set(name, value)
    if (this.exportsEverything) this.#exported.add(name)
  }

  /** The variable that a name stands for: itself, or what it refers to. */
  variableName(written: string): string {
    let name = written
    for (let count = 0; count < LONGEST_REFERENCE; count += 1) {
      const target = this.#references.get(name)
      if (target === undefined) return name
      name = target
    }
    return name
  }

  /** Makes a name stand for another variable; undefined ends it. False when there are too many. */
  refer(name: string, target: string | undefined): boolean {
    const ends = target === undefined || target === name
    if (ends && !this.#references.has(name)) return true
    if (!ends && this.#references.size >= MOST_REFERENCES) return false
    const references = new Map(this.#references)
    if (ends) references.delete(name)
    else references.set(name, target)
    this.#references = references
    return true
  }

  /** Makes a variable local to the running function; outside of functions it does nothing. */
  makeLocal(name: string): void {
    if (this.#locals?.has(name) === false) this.#locals.set(name, this.#variables.get(name))
  }

  /** Begins a function; the returned callback restores the variables that it made local. */
  enterFunction(): () => void {
    const outer = this.#locals
    this.#locals = new Map()
    return () => {
      for (const [name, value] of this.#locals ?? []) {
        if (value === undefined) this.forgetVariable(name)
        else this.setVariable(name, value)
      }
      this.#locals = outer
    }
  }

  /** Back to what the environment holds. */
  forgetVariable(name: string): void {
    this.#own()
    this.#variables.delete(name)
  }

  export(name: string): void {
    this.#own()
    this.#exported.add(name)
  }

  variableNames(): readonly string[] {
    return [...this.#variables.keys()]
  }

  function(name: string): ShellFunction | undefined {
    return this.#functions.get(name)
  }

  setFunction(name: string, body: string | undefined): void {
    this.#own()
    this.#functions.set(name, { body, certain: true })
  }

  unsetFunction(name: string): void {
    this.#own()
    this.#functions.delete(name)
  }

  hasAliases(): boolean {
    return this.#aliases.size > 0
  }

  alias(name: string): { readonly text: string | undefined } | undefined {
    return this.#aliases.has(name) ? { text: this.#aliases.get(name) } : undefined
  }

  setAlias(name: string, text: string | undefined): void {
    this.#own()
    this.#aliases.set(name, text)
  }

  unsetAlias(name: string): void {
    this.#own()
    this.#aliases.delete(name)
  }

  unsetAliases(): void {
    this.#own()
    this.#aliases.clear()
  }

  changeDirectory(directories: Directories): void {
    this.setVariable("OLDPWD", directoryValue(this.directories))
    this.directories = directories
    this.setVariable("PWD", directoryValue(directories))
  }

  /** Takes over everything that the other scope holds. */
  adopt(other: Scope): void {
    this.#variables = other.#variables
    this.#functions = other.#functions
    this.#aliases = other.#aliases
    this.#exported = other.#exported
    this.#references = other.#references
    this.#isShared = true
    other.#isShared = true
    this.directories = other.directories
    this.earlierDirectories = other.earlierDirectories
    this.positional = other.positional
    this.exportsEverything = other.exportsEverything
  }

  /** Merges in the outcome of another branch: what differs depends on the condition. */
  join(other: Scope): void {
    this.#joinVariables(other)
    this.#joinFunctions(other)
    if (this.#aliases !== other.#aliases) {
      this.#own()
      for (const [name, text] of other.#aliases) if (!this.#aliases.has(name)) this.#aliases.set(name, text)
    }
    if (this.#references !== other.#references) this.#references = new Map([...other.#references, ...this.#references])
    for (const name of other.#exported) {
      if (this.#exported.has(name)) continue
      this.#own()
      this.#exported.add(name)
    }
    this.directories = joinDirectories(this.directories, other.directories)
    if (this.positional !== other.positional) this.positional = undefined
  }

  /** Merges in the state before a loop: what the loop changes may have any value after some rounds. */
  widen(before: Scope): void {
    this.join(before)
    if (this.#variables === before.#variables) return
    this.#own()
    for (const [name, value] of this.#variables) {
      if (value !== before.#variables.get(name)) this.#variables.set(name, joinValues(value, UNKNOWN))
    }
  }

  #joinVariables(other: Scope): void {
    if (this.#variables === other.#variables) return
    this.#own()
    for (const name of new Set([...this.#variables.keys(), ...other.#variables.keys()])) {
      const mine = this.#variables.get(name)
      const theirs = other.#variables.get(name)
      if (mine !== theirs) this.#variables.set(name, joinValues(mine ?? UNKNOWN, theirs ?? UNKNOWN))
    }
  }

  #joinFunctions(other: Scope): void {
    if (this.#functions === other.#functions) return
    this.#own()
    for (const name of new Set([...this.#functions.keys(), ...other.#functions.keys()])) {
      const mine = this.#functions.get(name)
      const theirs = other.#functions.get(name)
      if (mine?.body === theirs?.body && mine !== undefined && theirs !== undefined) continue
      const body = mine === undefined ? theirs?.body : theirs === undefined ? mine.body : undefined
      this.#functions.set(name, { body, certain: false })
    }
  }

  differsFrom(other: Scope): boolean {
    return (
      this.#variables !== other.#variables ||
      this.#functions !== other.#functions ||
      this.#aliases !== other.#aliases ||
      this.directories !== other.directories ||
      this.positional !== other.positional
    )
  }

  #own(): void {
    if (!this.#isShared) return
    this.#variables = new Map(this.#variables)
    this.#functions = new Map(this.#functions)
    this.#aliases = new Map(this.#aliases)
    this.#exported = new Set(this.#exported)
    this.#isShared = false
  }

  toState(): ShellState {
    const variables = new Map<string, string | undefined>()
    const unexported = new Set<string>()
    const lists = new Map<string, ReadonlyMap<string, string>>()
    const listed = new Map<string, NameSource>()
    for (const [name, value] of this.#variables) {
      if (NOT_KEPT.has(name)) continue
      if (!this.#exported.has(name)) unexported.add(name)
      const kept = value.kind === "either" ? value.values[0] : value
      if (kept?.kind === "text" && kept.word.known) variables.set(name, kept.word.text)
      else {
        variables.set(name, undefined)
        const texts = kept?.kind === "list" ? knownTexts(kept.items) : undefined
        if (texts !== undefined) lists.set(name, texts)
        // What is done with a new file until the next line is not known.
        const names = kept === undefined ? undefined : asPart(nameSource(kept))
        if (names !== undefined) listed.set(name, names)
      }
    }
    return {
      directory: this.directories[0],
      variables,
      lists,
      unexported,
      functions: new Map([...this.#functions].map(([name, { body }]) => [name, body])),
      aliases: this.#aliases,
      files: this.files,
      links: this.links,
      ...(this.copies.size === 0 ? {} : { copies: this.copies }),
      ...(listed.size === 0 ? {} : { listed }),
      ...(this.sourced.size === 0 ? {} : { sourced: this.sourced }),
      ...(this.remotes.size === 0 ? {} : { remotes: this.remotes }),
    }
  }
}

/** Follow from the directory. */
const NOT_KEPT = new Set(["PWD"])

function listValue(texts: ReadonlyMap<string, string> | undefined, names: NameSource | undefined): Value {
  if (texts === undefined) return unknownFrom(names)
  return { kind: "list", items: new Map([...texts].map(([key, text]) => [key, knownWord(text)])) }
}

/** Undefined when an element is not known. */
function knownTexts(items: ReadonlyMap<string, ShellWord>): ReadonlyMap<string, string> | undefined {
  const texts = new Map<string, string>()
  for (const [key, { text, known, pattern }] of items) {
    if (!known || pattern) return undefined
    texts.set(key, text)
  }
  return texts
}

function directoryValue(directories: Directories): Value {
  const values = directories.map((directory) => (directory === undefined ? UNKNOWN : textValue(directory)))
  return values.length === 1 ? (values[0] ?? UNKNOWN) : { kind: "either", values }
}

export function joinDirectories(one: Directories, other: Directories): Directories {
  const all = [...new Set([...one, ...other])]
  return all.length > MOST_ALTERNATIVES ? [undefined] : all
}

function joinValues(one: Value, other: Value): Value {
  const all: Value[] = []
  for (const value of [...alternatives(one), ...alternatives(other)]) {
    if (!all.some((existing) => isSameValue(existing, value))) all.push(value)
  }
  const [only] = all
  if (all.length === 1 && only !== undefined) return only
  return all.length > MOST_ALTERNATIVES ? UNKNOWN : { kind: "either", values: all }
}

function alternatives(value: Value): readonly Value[] {
  return value.kind === "either" ? value.values : [value]
}

function isSameValue(one: Value, other: Value): boolean {
  if (one === other) return true
  if (one.kind !== other.kind) return false
  if (one.kind === "text" && other.kind === "text")
    return one.word.text === other.word.text && one.word.known === other.word.known
  return one.kind === "unset" || one.kind === "unknown"
}
