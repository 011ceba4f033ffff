import {emptyPanel} from '../../core/panels.js';
export function runsPage() { return emptyPanel('', ''); }
