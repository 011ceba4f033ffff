// Differences before saving, and conflicts.
export default {
  'changes.difference': 'Difference',
  'changes.member': 'What',
  'changes.now': 'Now',
  'changes.new': 'New',
  'changes.was': 'Before',
  'changes.theirs': 'Now, by others',
  'changes.mine': 'Yours',
  'changes.none': 'nothing',
};
