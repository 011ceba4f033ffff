// "Reachable? Why not?" as a list of conditions. The service decides (`unreachableBecause`); this only puts its codes
// beside the conditions that they belong to. No DOM.

const conditions = ['state', 'session', 'authorization'];

/**
 * @param record an installation's record for `service` or `support`
 * @returns `[{condition, isMet, code}]`: `code` is the reason if the condition is not met; null without the reasons.
 */
export function checklist(record) {
  const codes = record.unreachableBecause;
  if (!codes) return null;
  const known = conditions.map((condition) => {
    const code = codes.find((code) => code.startsWith(`${condition}-`)) ?? null;
    return {condition, isMet: code === null, code};
  });
  const others = codes.filter((code) => !conditions.some((condition) => code.startsWith(`${condition}-`)));
  return [...known, ...others.map((code) => ({condition: null, isMet: false, code}))];
}
