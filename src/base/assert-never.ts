/** Ends a switch over a union: a new member breaks the build here instead of falling through at run time. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value: ${JSON.stringify(value)}`)
}
