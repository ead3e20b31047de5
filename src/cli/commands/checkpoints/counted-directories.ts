export function countedDirectories(count: number): string {
  return count === 1 ? "1 directory" : `${count} directories`
}
