// Unterschiede vor dem Speichern und Konflikte.
export default {
  'changes.difference': 'Unterschied',
  'changes.member': 'Was',
  'changes.now': 'Jetzt',
  'changes.new': 'Neu',
  'changes.was': 'Vorher',
  'changes.theirs': 'Jetzt, von anderen',
  'changes.mine': 'Ihre',
  'changes.none': 'nichts',
};
