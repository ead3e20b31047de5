/** Environment variables. They change only as a whole, when `.env` is read again. */
export interface Environment {
  get(name: string): string | undefined
  /** Whether the variable is one of `1`, `true`, `yes`, `on` (any case, trimmed). */
  truthy(name: string): boolean
  names(): readonly string[]
  toObject(): Record<string, string>
}

/** A snapshot of the variables of this process. */
export function processEnvironment(): Environment {
  return environmentFrom(process.env)
}

export function environmentFrom(values: Readonly<Record<string, string | undefined>>): Environment {
  const variables = new Map<string, string>()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) variables.set(name, value)
  return {
    get: (name) => variables.get(name),
    truthy: (name) => isTruthy(variables.get(name) ?? ""),
    names: () => [...variables.keys()],
    toObject: () => Object.fromEntries(variables),
  }
}

/** An environment whose variables can be replaced all at once, when `.env` is read again. */
export interface ReplaceableEnvironment {
  readonly environment: Environment
  current(): Environment
  replace(next: Environment): void
}

export function replaceableEnvironment(first: Environment): ReplaceableEnvironment {
  let current = first
  return {
    environment: {
      get: (name) => current.get(name),
      truthy: (name) => current.truthy(name),
      names: () => current.names(),
      toObject: () => current.toObject(),
    },
    current: () => current,
    replace: (next) => {
      current = next
    },
  }
}

/** The same environment with some variables set, or removed where the value is undefined. */
export function withVariables(
  environment: Environment,
  changes: Readonly<Record<string, string | undefined>>,
): Environment {
  return environmentFrom({ ...environment.toObject(), ...changes })
}

function isTruthy(text: string): boolean {
  return ["1", "true", "yes", "on"].includes(text.trim().toLowerCase())
}
